/**
 * A chat in React with the AI SDK's `useChat`. The agent can read the files of a folder that the user picks.
 */

import { useChat } from '@ai-sdk/react'
import { Aptix, AptixError } from 'aptix'
import { AptixChatTransport } from 'aptix/ai-sdk'
import { useMemo, useRef, useState } from 'react'
import { createRoot } from 'react-dom/client'
import Markdown from 'react-markdown'

/** Id of the session, stored so that a reload finds it again. */
const chatId = sessionStorage.getItem('chat') ?? crypto.randomUUID()
sessionStorage.setItem('chat', chatId)

/** Returns the messages of earlier turns, from their summaries. `useChat` resumes the running turn. */
async function loadHistory(aptix) {
  const messages = []
  const addMessage = (id, role, text) => messages.push({ id, role, parts: [{ type: 'text', text }] })
  try {
    for await (const { Id, Status, InstructionSummary, AgentAnswerSummary } of aptix.session(chatId).turns()) {
      addMessage(`${Id}-user`, 'user', InstructionSummary)
      if (Status.Id === 'completed') addMessage(Id, 'assistant', AgentAnswerSummary)
    }
  } catch (error) {
    if (!(error instanceof AptixError) || error.code !== 'SessionNotFound') throw error
  }
  return messages
}

function App() {
  const [chat, connect] = useState()
  return (
    <>
      <h1>Aptix</h1>
      {chat ? <Chat {...chat} /> : <ConnectForm connect={connect} />}
    </>
  )
}

function ConnectForm({ connect }) {
  const [error, setError] = useState()
  const submit = (event) => {
    event.preventDefault()
    const { baseUrl, token } = Object.fromEntries(new FormData(event.target))
    const aptix = new Aptix({ baseUrl, token, resumeStore: sessionStorage })
    loadHistory(aptix).then((messages) => connect({ aptix, history: messages }), ({ message }) => setError(message))
  }
  return (
    <form id="connect-form" onSubmit={submit}>
      {error && <p role="alert">{error}</p>}
      <label>
        API <input name="baseUrl" type="url" required defaultValue="http://127.0.0.1:9000" />
      </label>
      <label>
        Token <input name="token" required autoComplete="off" />
      </label>
      <button>Connect</button>
    </form>
  )
}

function Chat({ aptix, history }) {
  const folder = useRef([])
  const transport = useMemo(() => {
    const tools = {
      workspace_read_file: async ({ path }) => {
        // The paths start with the name of the picked folder.
        const file = folder.current.find(({ webkitRelativePath }) => webkitRelativePath.replace(/^[^/]*\//, '') === path)
        if (!file) throw new Error(`${path} is not in the folder`)
        return { text: await file.text() }
      },
    }
    return new AptixChatTransport(aptix, { tools, agent: 'workspace' })
  }, [aptix])
  const { messages, status, error, sendMessage, stop } = useChat({ id: chatId, messages: history, transport, resume: true })
  const isBusy = status === 'submitted' || status === 'streaming'

  const submit = (event) => {
    event.preventDefault()
    const { text } = Object.fromEntries(new FormData(event.target))
    if (isBusy || text.trim() === '') return
    sendMessage({ text })
    event.target.reset()
  }
  return (
    <>
      <section aria-live="polite" aria-label="Conversation">
        {messages.map(({ id, role, parts }) => (
          <article key={id} className={role}>
            {parts.map((part, n) => (
              <Part key={n} part={part} role={role} />
            ))}
          </article>
        ))}
        {error && <p role="alert">{error.message}</p>}
      </section>
      <form id="message-form" onSubmit={submit}>
        <textarea name="text" aria-label="Message" placeholder="Send a message" />
        <label>
          Folder{' '}
          <input type="file" webkitdirectory="" onChange={({ target }) => (folder.current = [...target.files])} />
        </label>
        <button disabled={isBusy}>Send</button>
        <button type="button" disabled={!isBusy} onClick={stop}>
          Stop
        </button>
      </form>
    </>
  )
}

/** The answer is untrusted: an image that the page loads would tell its server what the answer says. */
const UNTRUSTED = { img: ({ src, alt }) => <a href={src}>{alt || src}</a> }

function Part({ part, role }) {
  if (part.type === 'text') return role === 'user' ? <span>{part.text}</span> : <Markdown components={UNTRUSTED}>{part.text}</Markdown>
  if (!part.type.startsWith('tool-')) return null
  return (
    <details>
      <summary>
        {part.type.slice('tool-'.length)} {part.input?.path}
      </summary>
      {part.errorText ?? JSON.stringify(part.output)}
    </details>
  )
}

createRoot(document.getElementById('chat')).render(<App />)
