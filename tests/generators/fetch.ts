// A turn, held with openapi-generator's client for fetch.
import { Configuration, ResponseError, SessionsApi, TurnsApi } from './client'

const configuration = new Configuration({ basePath: process.env.API, accessToken: process.env.TOKEN })
const agentExecuteRequest = { sessionId: 'fetch', turnId: 'one', instruction: 'Hello' }
const answer = await new TurnsApi(configuration).executeTurn({ agentExecuteRequest })
if (answer.result.kind !== 'final') throw new Error(JSON.stringify(answer))
const sessions = new SessionsApi(configuration)
const session = await sessions.readSession({ sessionId: 'fetch' })
if (session.result.turnCount !== 1) throw new Error(JSON.stringify(session))
const unknown = await sessions.readSession({ sessionId: 'none' }).catch((error: unknown) => error)
if (!(unknown instanceof ResponseError) || unknown.response.status !== 404) throw new Error('an error has its status')
console.log(answer.result.primaryOutputText)
