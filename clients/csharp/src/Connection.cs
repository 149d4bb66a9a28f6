using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using Aptix.Wire;
using Newtonsoft.Json;

namespace Aptix
{
    /// <summary>The state of a call or a turn, across all its requests.</summary>
    internal sealed class RequestState
    {
        internal readonly Dictionary<string, string> Headers = new Dictionary<string, string> { ["Accept"] = "application/json" };
        internal bool IsIdempotent = true;
        internal Action<StreamEvent> OnEvent;
        internal long? LastEventId;
        /// <summary>The number of failures since the last new event.</summary>
        internal int Failures;
    }

    public sealed partial class AptixClient
    {
        // Reads a turn to its result, with the tool rounds in between.
        private async Task<AgentExecuteResponse> StreamAsync(string path, object body, Action<StreamEvent> onEvent, ClientTools tools,
            CancellationToken cancel)
        {
            var state = new RequestState { OnEvent = onEvent, Headers = { ["Accept"] = "text/event-stream, application/json" } };
            while (true)
            {
                var response = await SendAsync<AgentExecuteResponse>(HttpMethod.Post, path, body, state, cancel).ConfigureAwait(false);
                if (tools == null || !(response is ClientToolContinuation waiting)) return response;
                var results = await tools.RunAsync(waiting.ToolCalls, cancel).ConfigureAwait(false);
                body = new ToolContinuation { SessionId = waiting.SessionId, TurnId = waiting.TurnId, ToolResults = results };
                path = ToolResultsPath;
            }
        }

        // Sends a request until it succeeds, and returns its result. A stream continues after the last event.
        private async Task<T> SendAsync<T>(HttpMethod method, string path, object body, RequestState state, CancellationToken cancel)
        {
            var json = body == null ? null : Json.Write(body);
            for (state.Failures = 0; ; state.Failures++)
            {
                var request = new HttpRequestMessage(method, path);
                request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", Token);
                if (state.LastEventId != null) request.Headers.Add("Last-Event-ID", state.LastEventId.ToString());
                foreach (var header in state.Headers)
                    if (header.Value != null) request.Headers.TryAddWithoutValidation(header.Key, header.Value);
                if (json != null) request.Content = new StringContent(json, Encoding.UTF8, "application/json");
                try
                {
                    return await ReceiveAsync<T>(request, state, cancel).ConfigureAwait(false);
                }
                catch (AptixException error) when (CanRetry(error, state.Failures) && (state.IsIdempotent || error.IsRejection))
                {
                    // Half of the delay is random, so that clients that failed together don't retry together.
                    var backoff = Math.Min(InitialBackoff.TotalSeconds * Math.Pow(2, state.Failures), 8);
                    backoff *= (1 + (Guid.NewGuid().GetHashCode() & 0xffff) / 65536.0) / 2;
                    var delay = TimeSpan.FromSeconds(Math.Max(backoff, error.RetryAfterSeconds ?? 0));
                    Retrying?.Invoke(error, delay);
                    await Task.Delay(delay, cancel).ConfigureAwait(false);
                }
            }
        }

        private bool CanRetry(AptixException error, int failures) =>
            error.Retry == Retry.SameRequest && !error.EndsTurn && failures < MaxRetries
            && !(error.RetryAfterSeconds > MaxRetryDelay.TotalSeconds);

        // Sends a request once, and reads the response: JSON, or events until the result.
        private async Task<T> ReceiveAsync<T>(HttpRequestMessage request, RequestState state, CancellationToken cancel)
        {
            using (var response = await WaitAsync(token => http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, token),
                cancel, AptixException.Unreachable).ConfigureAwait(false))
            {
                var stream = await WaitAsync(token => response.Content.ReadAsStreamAsync(), cancel).ConfigureAwait(false);
                var reader = new StreamReader(stream, Encoding.UTF8);
                Func<Task<string>> readLine = () => WaitAsync(token => reader.ReadLineAsync(), cancel);
                // A turn that was started without streaming has a buffered response.
                var isStream = response.IsSuccessStatusCode && response.Content.Headers.ContentType?.MediaType == "text/event-stream";
                if (isStream) return await ReadEventsAsync<T>(readLine, response, state).ConfigureAwait(false);
                var text = new StringBuilder();
                for (string line; (line = await readLine().ConfigureAwait(false)) != null;) text.AppendLine(line);
                return ReadResult<T>(text.ToString(), response);
            }
        }

        // Reads the events of a stream until the result.
        private static async Task<T> ReadEventsAsync<T>(Func<Task<string>> readLine, HttpResponseMessage response, RequestState state)
        {
            string id = null, name = null, data = null, retry = null;
            for (string line; (line = await readLine().ConfigureAwait(false)) != null;)
            {
                var match = Regex.Match(line, "^(?<field>[^:]*):? ?(?<value>.*)");
                var field = match.Groups["field"].Value;
                var value = match.Groups["value"].Value;
                if (field == "id") id = value;
                else if (field == "event") name = value;
                else if (field == "retry") retry = value;
                else if (field == "data") data = data == null ? value : data + "\n" + value;
                if (line.Length > 0) continue;
                var number = ParseNumber(id);
                // A new connection can repeat events. An event without an id is no progress.
                if (data != null && !(number <= state.LastEventId))
                {
                    if (number != null) state.Failures = 0;
                    state.LastEventId = number ?? state.LastEventId;
                    if (name == "result") return ReadResult<T>(data, response, number != null);
                    if (name != null && StreamEvent.Types.TryGetValue(name, out var type))
                        state.OnEvent?.Invoke((StreamEvent)TryParse(data, type) ?? throw AptixException.Interrupted());
                }
                id = name = data = null;
            }
            throw AptixException.Interrupted((ParseNumber(retry) + 999) / 1000);
        }

        private static long? ParseNumber(string text) => long.TryParse(text, out var number) ? number : (long?)null;

        // Returns the result of a success, and throws the error of a failure.
        private static T ReadResult<T>(string text, HttpResponseMessage response, bool endsTurn = false)
        {
            var envelope = (InvokeResult<T>)TryParse(text, typeof(InvokeResult<T>));
            if (envelope?.Successful == true && response.IsSuccessStatusCode) return envelope.Result;
            throw AptixException.FromResponse(response, envelope?.Successful == false ? envelope.Errors : null, endsTurn);
        }

        private static object TryParse(string json, Type type)
        {
            try { return Json.Parse(json, type); }
            catch (JsonException) { return null; }
        }

        // Waits for the connection. A silence longer than the idle timeout counts as a lost connection.
        private async Task<T> WaitAsync<T>(Func<CancellationToken, Task<T>> start, CancellationToken cancel,
            Func<AptixException> onLoss = null)
        {
            using (var timer = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                timer.CancelAfter(IdleTimeout);
                var io = start(timer.Token);
                // Not every platform cancels a read that waits. The read that is left behind can fail later.
                _ = io.ContinueWith(late => late.Exception, TaskContinuationOptions.OnlyOnFaulted);
                try
                {
                    await Task.WhenAny(io, Task.Delay(Timeout.Infinite, timer.Token)).ConfigureAwait(false);
                    if (io.IsCompleted && !cancel.IsCancellationRequested) return await io.ConfigureAwait(false);
                }
                catch (Exception error) when (error is HttpRequestException || error is IOException || error is WebException
                    || error is OperationCanceledException || error is ObjectDisposedException)
                {
                }
            }
            cancel.ThrowIfCancellationRequested();
            throw onLoss?.Invoke() ?? AptixException.Interrupted();
        }
    }
}
