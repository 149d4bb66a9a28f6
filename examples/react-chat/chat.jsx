/**
 * A chat in React, on the AI SDK's `useChat`. The agent may read the files of a folder that the user picks.
 */

import { useChat } from '@ai-sdk/react'
import { Aptix, AptixError } from 'aptix'
import { AptixChatTransport } from 'aptix/ai-sdk'
import { useMemo, useRef, useState } from 'react'
import { createRoot } from 'react-dom/client'

/** A session's id that a reload finds again. */
const chatId = sessionStorage.getItem('chat') ?? crypto.randomUUID()
sessionStorage.setItem('chat', chatId)

/** What was said before, as far as the session's list of turns tells. The turn that is under way is resumed. */
async function earlier(aptix) {
  const messages = []
  const said = (id, role, text) => messages.push({ id, role, parts: [{ type: 'text', text }] })
  try {
    for await (const { Id, Status, InstructionSummary, AgentAnswerSummary } of aptix.session(chatId).turns()) {
      said(`${Id}-user`, 'user', InstructionSummary)
      if (Status.Id === 'completed') said(Id, 'assistant', AgentAnswerSummary)
    }
  } catch (error) {
    if (!(error instanceof AptixError) || error.code !== 'SessionNotFound') throw error
  }
  return messages
}

function App() {
  const [chat, open] = useState()
  return (
    <>
      <h1>Aptix</h1>
      {chat ? <Chat {...chat} /> : <Where open={open} />}
    </>
  )
}

function Where({ open }) {
  const [fault, tell] = useState()
  const submit = (event) => {
    event.preventDefault()
    const { baseUrl, token } = Object.fromEntries(new FormData(event.target))
    const aptix = new Aptix({ baseUrl, token, keep: sessionStorage })
    earlier(aptix).then((messages) => open({ aptix, earlier: messages }), ({ message }) => tell(message))
  }
  return (
    <form id="where" onSubmit={submit}>
      {fault && <p role="alert">{fault}</p>}
      <label>
        API <input name="baseUrl" type="url" required defaultValue="http://127.0.0.1:9000" />
      </label>
      <label>
        Token <input name="token" required autoComplete="off" />
      </label>
      <button>Use</button>
    </form>
  )
}

function Chat({ aptix, earlier }) {
  const folder = useRef([])
  const transport = useMemo(() => {
    const tools = {
      workspace_read_file: async ({ path }) => {
        // What is picked is a folder: its own name stands before each path.
        const file = folder.current.find(({ webkitRelativePath }) => webkitRelativePath.replace(/^[^/]*\//, '') === path)
        if (!file) throw new Error(`${path} is not in the folder`)
        return { text: await file.text() }
      },
    }
    return new AptixChatTransport(aptix, { tools })
  }, [aptix])
  const { messages, status, error, sendMessage, stop } = useChat({ id: chatId, messages: earlier, transport, resume: true })
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
              <Part key={n} part={part} />
            ))}
          </article>
        ))}
        {error && <p role="alert">{error.message}</p>}
      </section>
      <form id="say" onSubmit={submit}>
        <textarea name="text" aria-label="Instruction" placeholder="Say something" />
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

function Part({ part }) {
  if (part.type === 'text') return <span>{part.text}</span>
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
