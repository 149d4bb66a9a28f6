// Reads a stream with `eventsource-client`, unmodified: argv is the folder it is installed in; the request is
// JSON on standard input. Every event is a line of JSON on standard output.
import {createRequire} from 'node:module'
import {join} from 'node:path'
import {text} from 'node:stream/consumers'

const {createEventSource} = createRequire(join(process.argv[2], '/'))('eventsource-client')
const {url, method, headers, body} = JSON.parse(await text(process.stdin))

const source = createEventSource({
  url,
  method,
  headers,
  body,
  onMessage: ({id, event, data}) => {
    console.log(JSON.stringify({id, event, data}))
    if (event === 'result') source.close()
  },
})
