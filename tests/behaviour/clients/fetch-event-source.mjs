// Reads a stream with `@microsoft/fetch-event-source`, unmodified: argv is the folder it is installed in; the
// request is JSON on standard input. Every event is a line of JSON on standard output. The package was
// written for browsers: what it looks for there is given to it.
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {text} from 'node:stream/consumers'

globalThis.window = globalThis
globalThis.document = new EventTarget()
const {fetchEventSource} = createRequire(join(process.argv[2], '/'))('@microsoft/fetch-event-source')
const {url, method, headers, body} = JSON.parse(await text(process.stdin))

let isOver = false
await fetchEventSource(url, {
  method,
  headers,
  body,
  onmessage: ({id, event, data}) => {
    console.log(JSON.stringify({id, event, data}))
    isOver = event === 'result'
  },
  // A stream that ends without a result is not over: to throw is to come back.
  onclose: () => {
    if (!isOver) throw new Error('the stream broke off')
  },
})
