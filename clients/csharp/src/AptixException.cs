using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using Aptix.Wire;

namespace Aptix
{
    /// <summary>An error of the API, or of the connection to it. The message says what is wrong and how to fix it.</summary>
    public sealed class AptixException : Exception
    {
        private AptixException(string code, string message) : base(message)
        {
            Code = code;
        }

        /// <summary>A value of <c>ErrorCode</c>, or one of this client's: <c>Unreachable</c>, <c>Interrupted</c> or
        /// <c>Unreadable</c>.</summary>
        public string Code { get; }

        /// <summary>The member, rule or id that the error is about.</summary>
        public string Details { get; private set; }

        /// <summary>A value of <c>Retry</c>. The client has retried <c>same_request</c> up to its limits, except a rollback that may
        /// have had an effect.</summary>
        public string Retry { get; private set; } = Wire.Retry.SameRequest;

        /// <summary>The seconds to wait before a retry, if known.</summary>
        public double? RetryAfterSeconds { get; private set; }

        /// <summary>The HTTP status; null without a response.</summary>
        public int? Status { get; private set; }

        /// <summary>All errors of the response. The first is this one.</summary>
        public IReadOnlyList<Error> Errors { get; private set; } = new Error[0];

        // True for the outcome of a turn, which the same request would only return again.
        internal bool EndsTurn { get; private set; }

        // True if the API rejected the request. After a lost connection or a status of 500 and above, it may have had an effect.
        internal bool IsRejection => Status < 500;

        internal static AptixException Unreachable() => new AptixException("Unreachable", "Can't reach the API. Is it running?");

        internal static AptixException Interrupted() => Interrupted(null);

        internal static AptixException Interrupted(double? retryAfter)
        {
            const string message = "The connection was lost before the response ended.";
            return new AptixException("Interrupted", message) { RetryAfterSeconds = retryAfter };
        }

        internal static AptixException Unreadable(HttpResponseMessage response)
        {
            var status = (int)response.StatusCode;
            var isTransient = status == 408 || status == 425 || status == 429 || status >= 500 && status != 501;
            var message = "Unexpected response with HTTP status " + status + ". Is this the API?";
            return new AptixException("Unreadable", message)
            {
                Status = status,
                Retry = isTransient ? Wire.Retry.SameRequest : Wire.Retry.Never,
                RetryAfterSeconds = response.Headers.RetryAfter?.Delta?.TotalSeconds,
            };
        }

        internal static AptixException FromErrors(List<Error> errors, HttpResponseMessage response, bool endsTurn)
        {
            var first = errors?.FirstOrDefault();
            if (first == null) return Unreadable(response);
            return new AptixException(first.ErrorCode, first.Message)
            {
                Details = first.Details,
                Retry = first.Retry ?? Wire.Retry.Never,
                RetryAfterSeconds = first.RetryAfterSeconds,
                Status = (int)response.StatusCode,
                Errors = errors,
                EndsTurn = endsTurn,
            };
        }
    }
}
