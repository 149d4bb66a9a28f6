using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Reflection;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Aptix.Wire;
using Newtonsoft.Json.Linq;

namespace Aptix.Tests
{
    /// <summary>Guarantees of the client, one at a time, against a local cloud.</summary>
    internal static class Program
    {
        private static LocalCloud cloud;

        private static int Main(string[] names) => RunAsync(names).GetAwaiter().GetResult();

        private static async Task<int> RunAsync(string[] names)
        {
            var failures = 0;
            using (cloud = new LocalCloud())
            {
                Environment.SetEnvironmentVariable("APTIX_URL", cloud.Url);
                Environment.SetEnvironmentVariable("APTIX_TOKEN", cloud.Token);
                var methods = typeof(Tests).GetMethods(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.DeclaredOnly);
                foreach (var test in methods.Where(IsTest))
                {
                    if (names.Length > 0 && !names.Contains(test.Name)) continue;
                    try
                    {
                        var run = (Task)test.Invoke(null, new object[] { cloud });
                        if (await Task.WhenAny(run, Task.Delay(TimeSpan.FromSeconds(60))) != run)
                            throw new TimeoutException("The test exceeded 60 s");
                        await run;
                        Console.WriteLine("ok      " + test.Name);
                    }
                    catch (Exception error)
                    {
                        failures++;
                        Console.WriteLine("FAILED  " + test.Name + "\n" + error);
                    }
                }
            }
            return failures == 0 ? 0 : 1;
        }

        private static bool IsTest(MethodInfo method)
        {
            var parameters = method.GetParameters();
            return method.ReturnType == typeof(Task) && parameters.Length == 1 && parameters[0].ParameterType == typeof(LocalCloud);
        }
    }

    internal static class Tests
    {
        private static async Task Text_is_the_answer(LocalCloud cloud)
        {
            using (var client = new AptixClient())
            {
                var turn = Turn("say \"2026-01-02T03:04:05Z\"");
                var answer = (Final)await client.RunAsync(turn);
                Equal("2026-01-02T03:04:05Z", answer.PrimaryOutputText, "a text like a date stays as it is");
                Equal(turn.TurnId, answer.TurnId);
                True(answer.Usage.TotalTokens > 0, "usage");
                Equal(answer.PrimaryOutputText, ((Final)await client.RunAsync(turn)).PrimaryOutputText, "the same turn");
                var stored = await client.ReadTurnAsync(turn.SessionId, turn.TurnId);
                Equal(TurnStatus.Completed, stored.Status.Id);
                Equal(1L, (await client.ListTurnsAsync(turn.SessionId, order: "asc", pageSize: 5)).Items.LongCount());
                var sessions = await client.ListSessionsAsync(since: DateTimeOffset.UtcNow.AddHours(-1));
                True(sessions.Items.Any(one => one.Id == turn.SessionId), "listed");
            }
        }

        private static async Task Deltas_are_the_answer_as_it_is_written(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                var text = new Transcript();
                var answer = (Final)await client.RunAsync(Turn("pace 5ms; words 40"), text.Add);
                Equal(answer.PrimaryOutputText, text.ToString());
                True(text.Deltas > 10, "several deltas");
                True(text.Events.OfType<StreamStatus>().Any(status => status.Phase == StreamPhase.Thinking), "status");
            }
        }

        private static async Task Tools_run_once_in_order_and_the_model_gets_their_results(LocalCloud cloud)
        {
            using (var proxy = new Proxy(cloud.Url, 1500, 700, 900))
            using (var client = cloud.Client(proxy.Url))
            {
                var ran = new List<string>();
                var tools = new ClientTools
                {
                    { "workspace_read_file", async (arguments, cancel) =>
                        {
                            await Task.Delay(5, cancel);
                            ran.Add((string)arguments["path"]);
                            if ((string)arguments["path"] == "bad") throw new FileNotFoundException("no such file: bad");
                            return new { contents = "seen by the tool" };
                        }
                    },
                };
                var turn = Turn("call workspace_read_file {\"path\":\"a\"}; call workspace_read_file {\"path\":\"bad\"}; " +
                    "call workspace_write_patch {\"path\":\"x\",\"patch\":\"y\"}; then; echo");
                turn.AgentContextId = "workspace";
                var answer = (Final)await client.RunAsync(turn, null, tools);
                Equal("a,bad", string.Join(",", ran));
                foreach (var part in new[] { "seen by the tool", "no such file: bad", "This client has no tool workspace_write_patch." })
                    True(answer.PrimaryOutputText.Contains(part), part + " in " + answer.PrimaryOutputText);
            }
        }

        private static async Task Calls_are_returned_without_tools(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                var turn = Turn("say \"First.\"; call workspace_read_file {\"path\":\"a\"}; then; say \"Done.\"");
                turn.AgentContextId = "workspace";
                var waiting = (ClientToolContinuation)await client.RunAsync(turn);
                Equal("First.", waiting.ToolContinuationMessage);
                var call = waiting.ToolCalls.Single();
                Equal("a", (string)JObject.Parse(call.ArgumentsJson)["path"]);
                var result = new SubmittedResult { ToolCallId = call.ToolCallId, ResultJson = "\"A\"" };
                var results = new ToolContinuation { SessionId = turn.SessionId, TurnId = turn.TurnId,
                    ToolResults = new List<SubmittedResult> { result } };
                Equal("Done.", ((Final)await client.SubmitToolResultsAsync(results)).PrimaryOutputText);
                Equal("Done.", ((Final)await client.SubmitToolResultsAsync(results)).PrimaryOutputText, "the same results again");
            }
        }

        private static async Task Stream_resumes_after_cut_connections(LocalCloud cloud)
        {
            using (var proxy = new Proxy(cloud.Url, 0, 900, 1500, 700))
            using (var client = cloud.Client(proxy.Url))
            {
                var codes = new List<string>();
                client.Retrying += (error, delay) => codes.Add(error.Code);
                var text = new Transcript();
                var turn = Turn("pace 10ms; words 60");
                var answer = (Final)await client.RunAsync(turn, text.Add);
                Equal(answer.PrimaryOutputText, text.ToString());
                True(proxy.Cuts >= 4, proxy.Cuts + " cuts");
                True(codes.Count >= 4 && codes.All(code => code == "Interrupted" || code == "Unreachable"), string.Join(",", codes));
                Equal(0, text.Events.OfType<StreamReset>().Count(), "a resumed stream has no reset");
                Equal(1, await cloud.CountModelCallsAsync(turn), "model calls");
            }
        }

        private static async Task Retry_makes_one_model_call(LocalCloud cloud)
        {
            // The request arrives, and its response is lost.
            using (var proxy = new Proxy(cloud.Url, 0, 0))
            using (var client = cloud.Client(proxy.Url))
            {
                var turn = Turn("say \"Once.\"");
                Equal("Once.", ((Final)await client.RunAsync(turn)).PrimaryOutputText);
                Equal(2, proxy.Cuts);
                Equal(1, await cloud.CountModelCallsAsync(turn), "model calls");
                Equal(1L, (await client.ReadSessionAsync(turn.SessionId)).TurnCount);
            }
        }

        private static async Task Rollback_with_a_lost_response_is_not_sent_again(LocalCloud cloud)
        {
            using (var proxy = new Proxy(cloud.Url, 0))
            using (var lossy = cloud.Client(proxy.Url))
            using (var client = cloud.Client())
            {
                var agent = AptixClient.NewId();
                await client.PutAgentAsync(agent, JObject.Parse("{\"Name\":\"First\"}"));
                await client.PutAgentAsync(agent, JObject.Parse("{\"Name\":\"Second\"}"));
                var error = await FailAsync(lossy.RollBackAgentAsync(agent, new RollbackRequest { Version = 1 }));
                Equal("Unreachable", error.Code);
                Equal(1, proxy.Cuts);
                Equal(3, (await client.ListAgentVersionsAsync(agent)).Items.Count, "versions");
            }
        }

        private static async Task Rollback_is_sent_again_only_after_a_rejection(LocalCloud cloud)
        {
            using (var handler = new FailingHandler())
            using (var client = new AptixClient(cloud.Url, cloud.Token, handler) { InitialBackoff = TimeSpan.Zero })
            {
                var agent = AptixClient.NewId();
                handler.Statuses.Enqueue(503);
                await client.PutAgentAsync(agent, JObject.Parse("{\"Name\":\"First\"}"));
                Equal(2, handler.Requests, "a PUT after a 503");
                handler.Statuses.Enqueue(429);
                await client.RollBackAgentAsync(agent, new RollbackRequest { Version = 1 });
                Equal(4, handler.Requests, "a rollback after a 429");
                handler.Statuses.Enqueue(503);
                Equal(503, (await FailAsync(client.RollBackAgentAsync(agent, new RollbackRequest { Version = 1 }))).Status);
                Equal(5, handler.Requests, "a rollback after a 503");
            }
        }

        private static async Task Call_with_a_lost_response_is_sent_again(LocalCloud cloud)
        {
            using (var proxy = new Proxy(cloud.Url, 0, 0, 0))
            using (var lossy = cloud.Client(proxy.Url))
            {
                var agent = AptixClient.NewId();
                await lossy.PutAgentAsync(agent, JObject.Parse("{\"Name\":\"First\"}"));
                Equal(3, proxy.Cuts);
                Equal(1, (await lossy.ListAgentVersionsAsync(agent)).Items.Count, "versions");
            }
        }

        private static async Task Errors_have_the_code_and_the_fix_of_the_API(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                var turn = Turn("say \"Hello\"");
                await client.RunAsync(turn);
                var error = await FailAsync(client.RunAsync(new UserTurn { SessionId = turn.SessionId, TurnId = turn.TurnId,
                    Instruction = "Bye" }));
                Equal(ErrorCode.TurnIdConflict, error.Code);
                Equal(409, error.Status);
                Equal(Retry.Never, error.Retry);
                error = await FailAsync(client.RunAsync(new UserTurn()));
                Equal(ErrorCode.InputRequired, error.Code);
                True(error.Message.Length > 0 && error.Errors[0].SystemError == false, error.Message);
                error = await FailAsync(client.ReadSessionAsync("nobody"));
                Equal(ErrorCode.SessionNotFound, error.Code);
                Equal(404, error.Status);
                error = await FailAsync(client.RunAsync(Turn("status 400 code content_filter")));
                True(error.Code.StartsWith("Model", StringComparison.Ordinal), error.Code);
            }
            using (var stranger = new AptixClient(cloud.Url, "no.such.token"))
                Equal(ErrorCode.Unauthenticated, (await FailAsync(stranger.RunAsync(Turn("say \"Hello\"")))).Code);
            using (var nowhere = new AptixClient("http://127.0.0.1:9", "t") { MaxRetries = 1, InitialBackoff = TimeSpan.Zero })
                Equal("Unreachable", (await FailAsync(nowhere.RunAsync(Turn("say \"Hello\"")))).Code);
        }

        private static async Task Token_stops_reading_and_the_turn_continues(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            using (var cancel = new CancellationTokenSource())
            {
                var turn = Turn("pace 10ms; words 30");
                try
                {
                    await client.RunAsync(turn, one => { if (one is StreamDelta) cancel.Cancel(); }, null, cancel.Token);
                    throw new InvalidOperationException("The turn was not cancelled");
                }
                catch (OperationCanceledException) { }
                True(((Final)await client.RunAsync(turn)).PrimaryOutputText.EndsWith("word30", StringComparison.Ordinal),
                    "the whole answer");
                Equal(1, await cloud.CountModelCallsAsync(turn), "model calls");
            }
        }

        private static async Task Cancelled_turn_ends_for_its_reader(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                var turn = Turn("pace 20ms; words 500");
                Task<AgentSessionTurnSummary> cancelled = null;
                var running = client.RunAsync(turn, one => cancelled = cancelled ?? (one is StreamDelta
                    ? client.CancelTurnAsync(turn.SessionId, turn.TurnId) : null));
                var error = await FailAsync(running);
                Equal(ErrorCode.TurnCancelled, error.Code);
                Equal(Retry.NewTurn, error.Retry);
                Equal(TurnStatus.Failed, (await cancelled).Status.Id);
            }
        }

        private static async Task Silent_connection_is_a_lost_one(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                client.IdleTimeout = TimeSpan.FromMilliseconds(400);
                var retries = 0;
                client.Retrying += (error, delay) => Interlocked.Increment(ref retries);
                var turn = Turn("say \"a\"; hang 1500ms; say \"b\"");
                Equal("ab", ((Final)await client.RunAsync(turn)).PrimaryOutputText);
                True(retries > 0, "retries");
                Equal(1, await cloud.CountModelCallsAsync(turn), "model calls");
            }
        }

        private static async Task Rerun_streams_another_answer(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                var turn = Turn("say \"First.\"");
                await client.RunAsync(turn);
                var text = new Transcript();
                var rerun = new RerunRequest { Instruction = "[[script: say \"Second.\"]]" };
                Equal("Second.", ((Final)await client.RerunAsync(turn.SessionId, turn.TurnId, rerun, text.Add)).PrimaryOutputText);
                Equal("Second.", text.ToString());
            }
        }

        private static async Task Files_of_a_turn_reach_the_model(LocalCloud cloud)
        {
            using (var client = cloud.Client())
            {
                var mark = AptixClient.NewId();
                var file = new InputArtifact { RelativePath = "src/a.rs", FileName = "a.rs", Contents = "// " + mark, Origin = Origin.Ide };
                await client.RunAsync(new UserTurn { Instruction = "Look.", InputArtifacts = new List<InputArtifact> { file } });
                True(await cloud.CountModelCallsAsync(mark) == 1, "the file");
            }
        }

        private static async Task Unknown_members_and_values_are_kept(LocalCloud cloud)
        {
            var json = "{\"Successful\":true,\"Result\":{\"Kind\":\"final\",\"PrimaryOutputText\":\"x\",\"Later\":{\"A\":\"2026-01-02T03:04:05Z\"}},\"Errors\":[]}";
            var final = (Final)Json.Parse<InvokeResult<AgentExecuteResponse>>(json).Result;
            Equal("2026-01-02T03:04:05Z", (string)final.UnknownMembers["Later"]["A"]);
            Equal("later", Json.Parse<StreamStatus>("{\"Phase\":\"later\",\"Attempt\":1}").Phase);
            var condition = new RagCondition { Key = "k", Operator = "==", Values = new List<JToken> { "a", 1, true } };
            Equal("{\"Key\":\"k\",\"Operator\":\"==\",\"Values\":[\"a\",1,true]}", Json.Write(condition));
            await Task.CompletedTask;
        }

        private static async Task Example_of_the_README_runs(LocalCloud cloud)
        {
            var output = new StringWriter();
            var console = Console.Out;
            Console.SetOut(output);
            try { await Readme.RunAsync(); }
            finally { Console.SetOut(console); }
            True(output.ToString().Contains("mock model"), output.ToString());
        }

        private static UserTurn Turn(string script)
        {
            // A unique text lets the tests count the model calls of one turn.
            return new UserTurn { SessionId = AptixClient.NewId(), Instruction = "[[script: " + script + "]] " + AptixClient.NewId() };
        }

        private static async Task<AptixException> FailAsync(Task run)
        {
            try { await run; }
            catch (AptixException error) { return error; }
            throw new InvalidOperationException("No error");
        }

        private static void True(bool condition, string message)
        {
            if (!condition) throw new InvalidOperationException("Not true: " + message);
        }

        private static void Equal<T>(T expected, T found, string message = "")
        {
            if (!Equals(expected, found)) throw new InvalidOperationException(message + ": expected " + expected + ", found " + found);
        }

        /// <summary>A handler that responds to the next requests with the given statuses, and forwards all others.</summary>
        private sealed class FailingHandler : DelegatingHandler
        {
            internal readonly Queue<int> Statuses = new Queue<int>();
            internal int Requests;

            internal FailingHandler() : base(new HttpClientHandler { UseProxy = false }) { }

            protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancel)
            {
                Requests++;
                if (Statuses.Count == 0) return base.SendAsync(request, cancel);
                return Task.FromResult(new HttpResponseMessage((HttpStatusCode)Statuses.Dequeue()) { Content = new StringContent("") });
            }
        }

        /// <summary>The text that a page would show, with the events that led to it.</summary>
        private sealed class Transcript
        {
            private readonly StringBuilder text = new StringBuilder();
            internal readonly List<StreamEvent> Events = new List<StreamEvent>();
            internal int Deltas;

            internal void Add(StreamEvent one)
            {
                Events.Add(one);
                if (one is StreamReset) text.Clear();
                if (!(one is StreamDelta)) return;
                Equal((long)text.Length, ((StreamDelta)one).Index, "index");
                text.Append(((StreamDelta)one).Text);
                Deltas++;
            }

            public override string ToString() => text.ToString();
        }
    }
}
