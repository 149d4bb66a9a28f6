using System;
using Newtonsoft.Json;

namespace Aptix.Wire
{
    /// <summary>Converts objects of the API from and to JSON.</summary>
    internal static class Json
    {
        // Texts that look like dates stay texts.
        private static readonly JsonSerializerSettings Settings = new JsonSerializerSettings
        {
            NullValueHandling = NullValueHandling.Ignore,
            DateParseHandling = DateParseHandling.None,
            DateFormatString = "yyyy-MM-ddTHH:mm:ss.FFFFFFFK",
        };

        internal static T Parse<T>(string json) => JsonConvert.DeserializeObject<T>(json, Settings);

        internal static object Parse(string json, Type type) => JsonConvert.DeserializeObject(json, type, Settings);

        internal static string Write(object value) => JsonConvert.SerializeObject(value, Settings);
    }
}
