/**
 * A TCP proxy that cuts connections after seeded numbers of bytes.
 *
 * @module
 */

import { once } from 'node:events'
import { connect, createServer } from 'node:net'

/**
 * Numbers between 0 and 1, the same for a seed each time (mulberry32).
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
 * @param {string} target where it leads
 * @param {() => number | undefined} cut after how many bytes, of either direction, the next connection breaks
 */
export async function proxy(target, cut) {
  const { hostname, port } = new URL(target)
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  let cuts = 0
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    let left = cut() ?? Infinity
    const pair = [near, far]
    /** @param {boolean} broken */
    const end = (broken) => {
      for (const socket of pair) {
        sockets.delete(socket)
        if (broken) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
    const pass = (/** @type {import('node:net').Socket} */ from, /** @type {import('node:net').Socket} */ to) => {
      sockets.add(from)
      from.on('data', (bytes) => {
        to.write(bytes.subarray(0, left))
        left -= bytes.length
        if (left > 0) return
        cuts += 1
        // What was written is to arrive before the connection breaks.
        from.pause()
        setTimeout(() => end(true), 1)
      })
      from.on('error', () => end(true))
      from.on('close', () => end(false))
    }
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${address.port}`,
    get cuts() {
      return cuts
    },
    /** Breaks every connection at once. */
    breakAll: () => sockets.forEach((socket) => socket.resetAndDestroy()),
    end: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}
