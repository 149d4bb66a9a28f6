// A turn, held with the types of openapi-typescript and its fetch client.
import createClient from 'openapi-fetch'

import type { paths } from './api'

const client = createClient<paths>({
  baseUrl: process.env.API,
  headers: { Authorization: `Bearer ${process.env.TOKEN}` },
})
const ids = { SessionId: 'types', TurnId: 'one' }
const { data, error } = await client.POST('/api/ai/agent/execute', { body: { ...ids, Instruction: 'Hello' } })
if (!data || data.Result.Kind !== 'final') throw new Error(JSON.stringify(error))
const read = await client.GET('/api/ai/agent/sessions/{SessionId}', { params: { path: { SessionId: 'types' } } })
if (read.data?.Result.TurnCount !== 1) throw new Error(JSON.stringify(read.error))
const unknown = await client.GET('/api/ai/agent/sessions/{SessionId}', { params: { path: { SessionId: 'none' } } })
if (unknown.error?.Errors[0]?.ErrorCode !== 'SessionNotFound') throw new Error('an error has its code')
console.log(data.Result.PrimaryOutputText)
