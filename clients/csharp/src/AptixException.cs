using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using Aptix.Wire;

namespace Aptix
{
    /// <summary>An error of the API, or of the connection to it. The message says what is wrong and how to fix it.</summary>
    public sealed partial class AptixException : Exception
    {
        /// <summary>The HTTP status; null without a response.</summary>
        public int? Status { get; private set; }

        /// <summary>All errors of the response. The first is this one.</summary>
        public IReadOnlyList<Error> Errors { get; private set; } = new Error[0];

        // True for the outcome of a turn, which the same request would only return again.
        internal bool EndsTurn { get; private set; }

        // True if the API rejected the request. After a lost connection or a status of 500 and above, it may have had an effect.
        internal bool IsRejection => Status < 500;

        internal static AptixException Unreachable() => Lost("Unreachable", "Can't reach the API. Is it running?");

        internal static AptixException Interrupted(long? retryAfter = null) =>
            Lost("Interrupted", "The connection was lost before the response ended.", retryAfter);

        // Returns the first error of the response. Without one, the response is not from the API.
        internal static AptixException FromResponse(HttpResponseMessage response, List<Error> errors, bool endsTurn)
        {
            var status = (int)response.StatusCode;
            var isTransient = status == 408 || status == 425 || status == 429 || status >= 500 && status != 501;
            var first = errors?.FirstOrDefault() ?? new Error
            {
                ErrorCode = "Unreadable",
                Message = "Unexpected response with HTTP status " + status + ". Is this the API?",
                Retry = isTransient ? Wire.Retry.SameRequest : Wire.Retry.Never,
                RetryAfterSeconds = (long?)response.Headers.RetryAfter?.Delta?.TotalSeconds,
            };
            return new AptixException(first) { Status = status, Errors = errors ?? new List<Error>(), EndsTurn = endsTurn };
        }

        private static AptixException Lost(string code, string message, long? retryAfter = null)
        {
            var retry = Wire.Retry.SameRequest;
            return new AptixException(new Error { ErrorCode = code, Message = message, Retry = retry, RetryAfterSeconds = retryAfter });
        }
    }
}
