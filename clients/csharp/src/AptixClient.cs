using System;
using System.Globalization;
using System.Linq;
using System.Net.Http;
using System.Threading;

namespace Aptix
{
    /// <summary>
    /// A client of one caller. It is safe for concurrent use. <c>RunAsync</c> streams a turn; each other operation with
    /// a JSON response has a method of its own.
    /// </summary>
    public sealed partial class AptixClient : IDisposable
    {
        private static readonly HttpMethod PatchMethod = new HttpMethod("PATCH");
        private readonly HttpClient http;

        /// <summary>Creates a client. The defaults are <c>APTIX_URL</c>, or the local cloud, and <c>APTIX_TOKEN</c>.</summary>
        public AptixClient(string baseUrl = null, string token = null, HttpMessageHandler handler = null)
        {
            baseUrl = baseUrl ?? Environment.GetEnvironmentVariable("APTIX_URL") ?? "http://127.0.0.1:9000";
            var address = new Uri(baseUrl.TrimEnd('/') + "/");
            // A proxy of the environment can't reach this machine.
            var direct = new HttpClientHandler { AllowAutoRedirect = false, UseProxy = !address.IsLoopback, MaxConnectionsPerServer = 256 };
            http = new HttpClient(handler ?? direct) { BaseAddress = address, Timeout = Timeout.InfiniteTimeSpan };
            Token = token ?? Environment.GetEnvironmentVariable("APTIX_TOKEN");
        }

        /// <summary>The bearer token. Replace it before it expires; the next request or retry sends the new one.</summary>
        public string Token { get; set; }

        /// <summary>The number of consecutive retries without progress.</summary>
        public int MaxRetries { get; set; } = 10;

        /// <summary>The first delay before a retry. It doubles up to 8 s, and the API can ask for a longer one.</summary>
        public TimeSpan InitialBackoff { get; set; } = TimeSpan.FromMilliseconds(250);

        /// <summary>The longest delay that the API can ask for. A longer one ends the retries.</summary>
        public TimeSpan MaxRetryDelay { get; set; } = TimeSpan.FromMinutes(15);

        /// <summary>The longest silence on a connection. A stream of the API is never silent for more than 15 s.</summary>
        public TimeSpan IdleTimeout { get; set; } = TimeSpan.FromSeconds(60);

        /// <summary>Called before each retry, with the error and the delay.</summary>
        public event Action<AptixException, TimeSpan> Retrying;

        /// <summary>Closes the connections.</summary>
        public void Dispose() => http.Dispose();

        /// <summary>Returns a new id of a session or a turn.</summary>
        public static string NewId() => Guid.NewGuid().ToString("N");

        private static string Escape(object value)
        {
            if (value is DateTimeOffset time) value = time.UtcDateTime.ToString("o");
            return Uri.EscapeDataString(Convert.ToString(value, CultureInfo.InvariantCulture));
        }

        private static string Query(params (string Name, object Value)[] fields)
        {
            var present = fields.Where(field => field.Value != null);
            var pairs = string.Join("&", present.Select(field => field.Name + "=" + Escape(field.Value)));
            return pairs.Length == 0 ? "" : "?" + pairs;
        }
    }
}
