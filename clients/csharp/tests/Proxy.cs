using System;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;

namespace Aptix.Tests
{
    /// <summary>A TCP proxy that resets its first connections after a number of response bytes, once each.</summary>
    internal sealed class Proxy : IDisposable
    {
        private readonly TcpListener listener = new TcpListener(IPAddress.Loopback, 0);
        private readonly Uri target;
        private readonly int[] limits;
        private int connections;
        private int cuts;

        internal Proxy(string target, params int[] limits)
        {
            this.target = new Uri(target);
            this.limits = limits;
            listener.Start();
            Url = "http://127.0.0.1:" + ((IPEndPoint)listener.LocalEndpoint).Port;
            _ = AcceptAsync();
        }

        internal string Url { get; }

        /// <summary>The number of connections that the proxy cut.</summary>
        internal int Cuts => cuts;

        public void Dispose() => listener.Stop();

        private async Task AcceptAsync()
        {
            try
            {
                while (true)
                {
                    var client = await listener.AcceptTcpClientAsync();
                    _ = ForwardAsync(client, connections < limits.Length ? limits[connections] : int.MaxValue);
                    connections++;
                }
            }
            catch (ObjectDisposedException) { }
            catch (SocketException) { }
        }

        private async Task ForwardAsync(TcpClient client, int limit)
        {
            using (client)
            using (var server = new TcpClient { NoDelay = true })
            {
                client.NoDelay = true;
                await server.ConnectAsync(target.Host, target.Port);
                await Task.WhenAny(CopyAsync(client, server, int.MaxValue), CopyAsync(server, client, limit));
                // A reset instead of an orderly end.
                client.LingerState = new LingerOption(true, 0);
            }
        }

        private async Task CopyAsync(TcpClient source, TcpClient sink, int remaining)
        {
            try
            {
                var buffer = new byte[65536];
                for (int read; (read = await source.GetStream().ReadAsync(buffer, 0, buffer.Length)) > 0; remaining -= read)
                {
                    await sink.GetStream().WriteAsync(buffer, 0, Math.Min(read, remaining));
                    if (read < remaining) continue;
                    Interlocked.Increment(ref cuts);
                    // Let the written bytes arrive before the connection breaks.
                    await Task.Delay(5);
                    return;
                }
            }
            catch (Exception error) when (error is System.IO.IOException || error is ObjectDisposedException
                || error is InvalidOperationException) { }
        }
    }
}
