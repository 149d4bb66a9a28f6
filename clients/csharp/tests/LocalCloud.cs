using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using Aptix.Wire;
using Newtonsoft.Json.Linq;

namespace Aptix.Tests
{
    /// <summary>A local cloud with a mock model, in a process of its own and with a temporary data folder.</summary>
    internal sealed class LocalCloud : IDisposable
    {
        private readonly string program = Path.GetFullPath(Environment.GetEnvironmentVariable("APTIX_PROGRAM") ?? "target/debug/aptix");
        private readonly string folder = Path.Combine(Path.GetTempPath(), "aptix-csharp-" + Guid.NewGuid().ToString("N"));
        private readonly HttpClient http = new HttpClient(new HttpClientHandler { UseProxy = false });
        private readonly Process process;
        private readonly Uri requests;

        internal LocalCloud()
        {
            process = Start("--port 0");
            try
            {
                // A cloud that doesn't start must not block the tests.
                _ = Task.Delay(TimeSpan.FromSeconds(60)).ContinueWith(_ => { if (requests == null) process.Kill(); });
                var addresses = new Dictionary<string, string>();
                for (string line; (line = process.StandardOutput.ReadLine()) != null;)
                {
                    if (line.StartsWith("  Data", StringComparison.Ordinal)) break;
                    var match = Regex.Match(line, @"^  (\w+) +(http\S+)");
                    if (match.Success) addresses[match.Groups[1].Value] = match.Groups[2].Value;
                }
                if (!addresses.ContainsKey("API")) throw new InvalidOperationException("The local cloud did not start: " + program);
                Url = addresses["API"];
                requests = new Uri(new Uri(addresses["Model"]), "/scripted/requests");
                // Read the rest, so that the program never waits for its reader.
                _ = process.StandardOutput.ReadToEndAsync();
                Token = Run("token --org acme --user ada --agent-editor").Trim();
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        internal string Url { get; }

        internal string Token { get; }

        internal AptixClient Client(string url = null)
        {
            return new AptixClient(url ?? Url, Token) { InitialBackoff = TimeSpan.FromMilliseconds(5), MaxRetries = 100 };
        }

        /// <summary>Returns the number of model calls for a turn, whose instruction ends with a unique text.</summary>
        internal Task<int> CountModelCallsAsync(UserTurn turn) =>
            CountModelCallsAsync(turn.Instruction.Substring(turn.Instruction.Length - 32));

        /// <summary>Returns the number of model calls for an instruction that contains the text.</summary>
        internal async Task<int> CountModelCallsAsync(string text)
        {
            var recorded = JObject.Parse(await http.GetStringAsync(requests));
            var count = 0;
            foreach (var request in recorded["requests"])
                if (request["body"].ToString().Contains(text)) count++;
            return count;
        }

        public void Dispose()
        {
            if (!process.HasExited) process.Kill();
            process.WaitForExit();
            http.Dispose();
            Directory.Delete(folder, true);
        }

        private string Run(string arguments)
        {
            using (var command = Start(arguments))
            {
                var output = command.StandardOutput.ReadToEnd();
                command.WaitForExit();
                if (command.ExitCode != 0) throw new InvalidOperationException("aptix " + arguments + " ended with " + command.ExitCode);
                return output;
            }
        }

        private Process Start(string arguments)
        {
            Directory.CreateDirectory(folder);
            arguments += " --data " + folder;
            var start = new ProcessStartInfo(program, arguments) { UseShellExecute = false, RedirectStandardOutput = true };
            // Never use the developer's own model.
            foreach (var name in start.EnvironmentVariables.Keys.Cast<string>().ToList())
                if (name.StartsWith("OPENAI_", StringComparison.Ordinal)) start.EnvironmentVariables.Remove(name);
            return Process.Start(start);
        }
    }
}
