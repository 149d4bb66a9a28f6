/**
 * A server on a free port of this machine, for tests.
 *
 * @module
 */

import { once } from 'node:events'
import { createServer } from 'node:http'

/** @param {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => unknown} answer */
export async function listen(answer) {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    end: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
