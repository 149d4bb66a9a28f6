/**
 * The modes of the organization, and the built-in ones. For operators and agent editors.
 *
 * @module
 */

import { contextPage } from './context-page.js'

/** @type {Record<string, import('./context-page.js').Kind>} */
const KINDS = {
  mode: {
    path: 'api/ai/agent/modes',
    idMember: 'Key',
    nameMember: 'DisplayName',
    template: {
      Kind: 'mode',
      Key: 'release_notes',
      DisplayName: 'Release notes',
      Description: 'Writes the notes of a release from its commits.',
      WhenToUse: 'When the user wants to write or change release notes.',
      Status: 'active',
      Version: '1',
      ModeInstructions: ['Group the changes by what a user notices.'],
      AssociatedToolIds: ['publish_file'],
    },
    deletion: 'Sessions that are in it go on without its instructions and tools. A built-in mode of this key comes back.',
    deprecation: (Deprecated) => ({ Status: 'deprecated', Deprecated }),
  },
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {import('./main.js').View}
 */
export const modes = (connection) =>
  contextPage(connection, {
    title: 'Modes',
    label: 'Modes',
    description: 'A mode is a way of working: instructions for the model, the tools that it brings, and hints for retrieval. The model changes to it when it applies.',
    kinds: KINDS,
  })
