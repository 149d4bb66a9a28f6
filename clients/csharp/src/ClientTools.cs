using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Aptix.Wire;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Aptix
{
    using Function = Func<JToken, CancellationToken, Task<object>>;

    /// <summary>
    /// The client tools of a turn. Each call runs once, sequentially and in order. An exception is the call's error, and its
    /// message is what the model gets.
    /// </summary>
    public sealed class ClientTools : IEnumerable<string>
    {
        // The API's limits, less a margin for the ids around the results.
        private const int MaxResultChars = 1048576, MaxMessageChars = 65536, MaxRequestBytes = (4 << 20) - 1024;
        private const string Omitted = "This result was omitted: the results of these calls exceed the size limit of a request.";
        private readonly Dictionary<string, Function> tools = new Dictionary<string, Function>();

        /// <summary>Adds a tool. Its arguments are JSON, and its result is serialized as JSON.</summary>
        public void Add(string name, Func<JToken, CancellationToken, Task<object>> run) => tools.Add(name, run);

        /// <summary>Adds a tool that doesn't wait.</summary>
        public void Add(string name, Func<JToken, object> run) => tools.Add(name, (arguments, cancel) => Task.FromResult(run(arguments)));

        /// <summary>Returns the names of the tools.</summary>
        public IEnumerator<string> GetEnumerator() => tools.Keys.GetEnumerator();

        IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

        internal async Task<List<SubmittedResult>> RunAsync(List<ToolCall> calls, CancellationToken cancel)
        {
            var results = new List<SubmittedResult>();
            var bytes = 0;
            foreach (var call in calls)
            {
                var clock = Stopwatch.StartNew();
                var result = new SubmittedResult { ToolCallId = call.ToolCallId };
                try
                {
                    if (!tools.ContainsKey(call.Name)) throw new NotSupportedException("This client has no tool " + call.Name + ".");
                    var output = await tools[call.Name](Json.Parse<JToken>(call.ArgumentsJson), cancel).ConfigureAwait(false);
                    result.ResultJson = output == null ? "null" : Json.Write(output);
                    if (result.ResultJson.Length > MaxResultChars)
                        throw new InvalidOperationException("The tool's result is larger than " + MaxResultChars + " characters of JSON.");
                }
                catch (Exception error) when (!cancel.IsCancellationRequested)
                {
                    SetError(result, error.Message);
                }
                result.ExecutionMs = clock.ElapsedMilliseconds;
                var size = Size(result);
                if (bytes + size > MaxRequestBytes) SetError(result, Omitted);
                bytes += Math.Min(size, Size(result));
                results.Add(result);
            }
            return results;
        }

        private static void SetError(SubmittedResult result, string message)
        {
            result.ResultJson = null;
            message = string.IsNullOrWhiteSpace(message) ? "The tool failed." : message;
            result.ErrorMessage = message.Length > MaxMessageChars ? message.Substring(0, MaxMessageChars) : message;
        }

        // A function receives a request as a JSON string, so escapes count twice.
        private static int Size(SubmittedResult result) => Encoding.UTF8.GetByteCount(JsonConvert.ToString(Json.Write(result)));
    }
}
