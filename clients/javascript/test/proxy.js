/**
 * A TCP proxy that cuts connections after seeded numbers of bytes.
 *
 * @module
 */

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * Returns a seeded random number generator (mulberry32).
 * @param {number} seed
 */
export function seeded(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * @param {string} target URL to forward to
 * @param {() => number | undefined} cut returns the number of bytes, in both directions, after which the next connection breaks
 */
export async function proxy(target, cut) {
  const { hostname, port } = new URL(target)
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let remaining = cut() ?? Infinity
    const pair = [client, upstream]
    /** @param {boolean} isReset */
    const end = (isReset) => {
      for (const socket of pair) {
        sockets.delete(socket)
        if (isReset) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    const forward = (/** @type {import('node:net').Socket} */ from, /** @type {import('node:net').Socket} */ to) => {
      sockets.add(from)
      from.on('data', (bytes) => {
        to.write(bytes.subarray(0, remaining))
        remaining -= bytes.length
        if (remaining > 0) return
        cuts += 1
        // Let the written bytes arrive before the connection breaks.
        from.pause()
        setTimeout(() => end(true), 1)
      })
      from.on('error', () => end(true))
      from.on('close', () => end(false))
    }
    forward(client, upstream)
    forward(upstream, client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${address.port}`,
    get cuts() {
      return cuts
    },
    /** Breaks all connections. */
    breakAll: () => sockets.forEach((socket) => socket.resetAndDestroy()),
    end: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}
