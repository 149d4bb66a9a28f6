using System;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Aptix.Wire;
using Newtonsoft.Json;

namespace Aptix
{
    /// <summary>A position in a turn's stream. It is valid across all requests of the turn.</summary>
    internal sealed class StreamPosition
    {
        internal long? LastEventId;
        /// <summary>The number of failures since the last new event.</summary>
        internal int Failures;
    }

    /// <summary>A request and its response. A silence longer than the idle timeout counts as a lost connection.</summary>
    internal sealed class Connection : IDisposable
    {
        private readonly TimeSpan idleTimeout;
        private readonly CancellationToken cancel;
        private readonly CancellationTokenSource abort;
        // Not every platform cancels a read that waits.
        private readonly TaskCompletionSource<object> aborted =
            new TaskCompletionSource<object>(TaskCreationOptions.RunContinuationsAsynchronously);
        private HttpResponseMessage response;
        private StreamReader reader;

        internal Connection(TimeSpan idleTimeout, CancellationToken cancel)
        {
            this.idleTimeout = idleTimeout;
            this.cancel = cancel;
            abort = CancellationTokenSource.CreateLinkedTokenSource(cancel);
            abort.Token.Register(() => aborted.TrySetResult(null));
        }

        public void Dispose()
        {
            response?.Dispose();
            abort.Dispose();
        }

        /// <summary>Sends the request. An error status throws its error.</summary>
        internal async Task OpenAsync(HttpClient http, HttpRequestMessage request)
        {
            var sent = http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, abort.Token);
            response = await WaitAsync(sent, AptixException.Unreachable).ConfigureAwait(false);
            var stream = await WaitAsync(response.Content.ReadAsStreamAsync(), AptixException.Interrupted).ConfigureAwait(false);
            reader = new StreamReader(stream, Encoding.UTF8);
            if ((int)response.StatusCode < 300) return;
            await ReadEnvelopeAsync<object>().ConfigureAwait(false);
            throw AptixException.Unreadable(response);
        }

        /// <summary>Reads a JSON response.</summary>
        internal async Task<InvokeResult<T>> ReadEnvelopeAsync<T>()
        {
            var text = new StringBuilder();
            for (string line; (line = await ReadLineAsync().ConfigureAwait(false)) != null;) text.AppendLine(line);
            return ParseEnvelope<T>(text.ToString());
        }

        /// <summary>Reads the events of a stream until its result.</summary>
        internal async Task<AgentExecuteResponse> ReadStreamAsync(StreamPosition position, Action<StreamEvent> onEvent)
        {
            // A turn that was started without streaming has a buffered response.
            if (response.Content.Headers.ContentType?.MediaType == "application/json")
                return (await ReadEnvelopeAsync<AgentExecuteResponse>().ConfigureAwait(false)).Result;
            string id = null, name = null, data = null, retry = null;
            for (string line; (line = await ReadLineAsync().ConfigureAwait(false)) != null;)
            {
                var parts = line.Split(new[] { ':' }, 2);
                var value = parts.Length == 1 ? "" : parts[1].StartsWith(" ", StringComparison.Ordinal) ? parts[1].Substring(1) : parts[1];
                if (parts[0] == "id") id = value;
                else if (parts[0] == "event") name = value;
                else if (parts[0] == "retry") retry = value;
                else if (parts[0] == "data") data = data == null ? value : data + "\n" + value;
                if (line.Length > 0) continue;
                var number = ParseNumber(id);
                // A new connection can repeat events. An event without an id is no progress.
                if (data != null && !(number <= position.LastEventId))
                {
                    if (number != null) position.Failures = 0;
                    position.LastEventId = number ?? position.LastEventId;
                    if (name == "result") return ParseEnvelope<AgentExecuteResponse>(data, number != null).Result;
                    if (name != null && StreamEvent.Types.ContainsKey(name)) onEvent?.Invoke(ParseEvent(data, StreamEvent.Types[name]));
                }
                id = name = data = null;
            }
            throw AptixException.Interrupted(ParseNumber(retry) / 1000.0);
        }

        private static long? ParseNumber(string text) => long.TryParse(text, out var number) ? number : (long?)null;

        private static StreamEvent ParseEvent(string data, Type type)
        {
            try { return (StreamEvent)AptixClient.FromJson(data, type); }
            catch (JsonException) { throw AptixException.Interrupted(); }
        }

        // Returns the envelope of a success, and throws the error of a failure.
        private InvokeResult<T> ParseEnvelope<T>(string text, bool endsTurn = false)
        {
            InvokeResult<T> envelope = null;
            try { envelope = AptixClient.FromJson<InvokeResult<T>>(text); }
            catch (JsonException) { }
            if (envelope?.Successful == null) throw AptixException.Unreadable(response);
            if (envelope.Successful == false) throw AptixException.FromErrors(envelope.Errors, response, endsTurn);
            return envelope;
        }

        private Task<string> ReadLineAsync() => WaitAsync(reader.ReadLineAsync(), AptixException.Interrupted);

        private async Task<T> WaitAsync<T>(Task<T> io, Func<AptixException> onLoss)
        {
            try
            {
                abort.CancelAfter(idleTimeout);
                await Task.WhenAny(io, aborted.Task).ConfigureAwait(false);
                if (!aborted.Task.IsCompleted)
                {
                    // What the caller does with the line doesn't count.
                    abort.CancelAfter(Timeout.InfiniteTimeSpan);
                    return await io.ConfigureAwait(false);
                }
                // The read that is left behind can fail later.
                _ = io.ContinueWith(late => late.Exception, TaskContinuationOptions.OnlyOnFaulted);
            }
            catch (Exception error) when (error is HttpRequestException || error is IOException || error is WebException
                || error is OperationCanceledException || error is ObjectDisposedException)
            {
            }
            cancel.ThrowIfCancellationRequested();
            throw onLoss();
        }
    }
}
