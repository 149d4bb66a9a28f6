/**
 * The contexts of the organization. For operators and agent editors.
 *
 * @module
 */

import { contextPage } from './context-page.js'

const deprecation = (/** @type {string} */ Deprecated) => ({ Deprecated })
const deletion = 'Sessions that use it can’t take further turns.'

/** @type {Record<string, import('./context-page.js').Kind>} */
const KINDS = {
  agent: {
    path: 'api/ai/agent/agents',
    idMember: 'Id',
    nameMember: 'Name',
    template: { Kind: 'agent', Id: 'engineer', Name: 'Engineer', DefaultConversationContextId: 'default', ClientTools: [] },
    deletion,
    deprecation,
  },
  conversation: {
    path: 'api/ai/agent/conversation-contexts',
    idMember: 'Id',
    nameMember: 'Name',
    template: { Kind: 'conversation', Id: 'backend', Name: 'Backend', System: 'You help.', StoreRawPayloads: true },
    deletion,
    deprecation,
  },
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export const agents = (connection) =>
  contextPage(connection, {
    title: 'Agents',
    label: 'Contexts',
    description: 'Agent contexts define prompts and client tools; conversation contexts define models and limits.',
    kinds: KINDS,
    isTestable: true,
  })
