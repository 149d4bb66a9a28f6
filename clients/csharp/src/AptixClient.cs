using System;
using System.Globalization;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Aptix.Wire;
using Newtonsoft.Json;

namespace Aptix
{
    /// <summary>
    /// A client of one caller. It is safe for concurrent use. <c>RunAsync</c> streams a turn; each other operation of the
    /// API has a generated method.
    /// </summary>
    public sealed partial class AptixClient : IDisposable
    {
        private static readonly HttpMethod PatchMethod = new HttpMethod("PATCH");
        // Texts that look like dates stay texts.
        private static readonly JsonSerializerSettings Settings = new JsonSerializerSettings
        {
            NullValueHandling = NullValueHandling.Ignore,
            DateParseHandling = DateParseHandling.None,
            DateFormatString = "yyyy-MM-ddTHH:mm:ss.FFFFFFFK",
        };
        private readonly HttpClient http;
        private readonly Uri baseUrl;

        /// <summary>Creates a client. The defaults are <c>APTIX_URL</c>, or the local cloud, and <c>APTIX_TOKEN</c>.</summary>
        public AptixClient(string baseUrl = null, string token = null, HttpMessageHandler handler = null)
        {
            baseUrl = baseUrl ?? Environment.GetEnvironmentVariable("APTIX_URL") ?? "http://127.0.0.1:9000";
            this.baseUrl = new Uri(baseUrl.TrimEnd('/') + "/");
            Token = token ?? Environment.GetEnvironmentVariable("APTIX_TOKEN");
            // A proxy of the environment can't reach this machine.
            var direct = new HttpClientHandler { AllowAutoRedirect = false, UseProxy = !this.baseUrl.IsLoopback };
            direct.MaxConnectionsPerServer = 256;
            http = new HttpClient(handler ?? direct) { Timeout = Timeout.InfiniteTimeSpan };
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

        /// <summary>
        /// Runs a turn to its result: a <c>Final</c> answer, or the calls of client tools if <c>tools</c> is null. Missing ids
        /// are generated. The turn's id is the idempotency key: every retry sends the same bytes, and the model is called once.
        /// </summary>
        /// <param name="turn">The turn. The same ids with the same input continue a turn, also after a restart.</param>
        /// <param name="onEvent">Called with each event: the deltas since the last reset are the answer.</param>
        /// <param name="tools">The client's tools. Calls of other tools are refused.</param>
        /// <param name="cancel">Stops reading. The turn continues, unless <c>CancelTurnAsync</c> cancels it.</param>
        public Task<AgentExecuteResponse> RunAsync(UserTurn turn, Action<StreamEvent> onEvent = null, ClientTools tools = null,
            CancellationToken cancel = default)
        {
            turn.SessionId = turn.SessionId ?? NewId();
            turn.TurnId = turn.TurnId ?? NewId();
            turn.Streaming = true;
            return StreamAsync("execute", turn, turn.SessionId, turn.TurnId, onEvent, tools, cancel);
        }

        /// <summary>Runs a turn again, as <c>RunAsync</c> does. Absent members of the request are those of the original.</summary>
        public Task<AgentExecuteResponse> RerunAsync(string sessionId, string turnId, RerunRequest rerun,
            Action<StreamEvent> onEvent = null, ClientTools tools = null, CancellationToken cancel = default)
        {
            rerun.TurnId = rerun.TurnId ?? NewId();
            rerun.Streaming = true;
            var path = "sessions/" + Escape(sessionId) + "/turns/" + Escape(turnId) + "/rerun";
            return StreamAsync(path, rerun, sessionId, rerun.TurnId, onEvent, tools, cancel);
        }

        /// <summary>Continues a turn with the results of its tool calls: exactly one per call, in order.</summary>
        public Task<AgentExecuteResponse> SubmitToolResultsAsync(ToolContinuation results, Action<StreamEvent> onEvent = null,
            ClientTools tools = null, CancellationToken cancel = default)
        {
            return StreamAsync("tool-results", results, results.SessionId, results.TurnId, onEvent, tools, cancel);
        }

        /// <summary>Closes the connections.</summary>
        public void Dispose() => http.Dispose();

        /// <summary>Returns a new id of a session or a turn.</summary>
        public static string NewId() => Guid.NewGuid().ToString("N");

        internal static T FromJson<T>(string json) => JsonConvert.DeserializeObject<T>(json, Settings);

        internal static object FromJson(string json, Type type) => JsonConvert.DeserializeObject(json, type, Settings);

        internal static string ToJson(object value) => JsonConvert.SerializeObject(value, Settings);

        private static string Escape(object value) => Uri.EscapeDataString(Text(value));

        private static string Text(object value) =>
            value is DateTimeOffset time ? time.UtcDateTime.ToString("o") : Convert.ToString(value, CultureInfo.InvariantCulture);

        private static string Query(params object[] pairs)
        {
            var query = new StringBuilder();
            for (var i = 0; i < pairs.Length; i += 2)
                if (pairs[i + 1] != null)
                    query.Append(query.Length == 0 ? '?' : '&').Append(pairs[i]).Append('=').Append(Escape(pairs[i + 1]));
            return query.ToString();
        }

        // Sends a request until it succeeds, and returns its result.
        private async Task<T> CallAsync<T>(HttpMethod method, string path, object body, bool isIdempotent, CancellationToken cancel,
            params string[] headers)
        {
            var json = body == null ? null : ToJson(body);
            for (var failures = 0; ; failures++)
            {
                try
                {
                    using (var connection = await SendAsync(method, path, json, "application/json", headers, cancel).ConfigureAwait(false))
                        return (await connection.ReadEnvelopeAsync<T>().ConfigureAwait(false)).Result;
                }
                catch (AptixException error) when ((isIdempotent || error.IsRejection) && CanRetry(error, failures))
                {
                    await DelayAsync(error, failures, cancel).ConfigureAwait(false);
                }
            }
        }

        // Reads a turn to its result, with the tool rounds in between.
        private async Task<AgentExecuteResponse> StreamAsync(string path, object body, string sessionId, string turnId,
            Action<StreamEvent> onEvent, ClientTools tools, CancellationToken cancel)
        {
            for (var position = new StreamPosition(); ;)
            {
                var response = await FollowAsync("api/ai/agent/" + path, ToJson(body), position, onEvent, cancel).ConfigureAwait(false);
                var waiting = response as ClientToolContinuation;
                if (tools == null || waiting == null) return response;
                var results = await tools.RunAsync(waiting.ToolCalls, cancel).ConfigureAwait(false);
                body = new ToolContinuation { SessionId = sessionId, TurnId = turnId, ToolResults = results };
                path = "tool-results";
            }
        }

        // Reads the events of a request until its result. After a lost connection, the same request continues after the last event.
        private async Task<AgentExecuteResponse> FollowAsync(string path, string json, StreamPosition position,
            Action<StreamEvent> onEvent, CancellationToken cancel)
        {
            for (position.Failures = 0; ; position.Failures++)
            {
                try
                {
                    var headers = new[] { "Last-Event-ID", position.LastEventId?.ToString(CultureInfo.InvariantCulture) };
                    const string accept = "text/event-stream, application/json";
                    using (var connection = await SendAsync(HttpMethod.Post, path, json, accept, headers, cancel).ConfigureAwait(false))
                        return await connection.ReadStreamAsync(position, onEvent).ConfigureAwait(false);
                }
                catch (AptixException error) when (!error.EndsTurn && CanRetry(error, position.Failures))
                {
                    await DelayAsync(error, position.Failures, cancel).ConfigureAwait(false);
                }
            }
        }

        private bool CanRetry(AptixException error, int failures) =>
            error.Retry == Retry.SameRequest && failures < MaxRetries && !(error.RetryAfterSeconds > MaxRetryDelay.TotalSeconds);

        private Task DelayAsync(AptixException error, int failures, CancellationToken cancel)
        {
            // Half of the delay is random, so that clients that failed together don't retry together.
            var longest = Math.Min(InitialBackoff.TotalSeconds * Math.Pow(2, failures), 8);
            var chosen = longest * (1 + (Guid.NewGuid().GetHashCode() & 0xffff) / 65536.0) / 2;
            var delay = TimeSpan.FromSeconds(Math.Max(chosen, error.RetryAfterSeconds ?? 0));
            Retrying?.Invoke(error, delay);
            return Task.Delay(delay, cancel);
        }

        private async Task<Connection> SendAsync(HttpMethod method, string path, string json, string accept, string[] headers,
            CancellationToken cancel)
        {
            var request = new HttpRequestMessage(method, new Uri(baseUrl, path));
            request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", Token);
            request.Headers.Accept.ParseAdd(accept);
            for (var i = 0; i < headers.Length; i += 2)
                if (headers[i + 1] != null) request.Headers.TryAddWithoutValidation(headers[i], headers[i + 1]);
            if (json != null) request.Content = new StringContent(json, Encoding.UTF8, "application/json");
            var connection = new Connection(IdleTimeout, cancel);
            try
            {
                await connection.OpenAsync(http, request).ConfigureAwait(false);
                return connection;
            }
            catch
            {
                connection.Dispose();
                throw;
            }
        }
    }
}
