/**
 * Files of an answer: images are shown, others are chips. A click opens a preview, from which nothing is executed.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { button, download, el, errorMessage, iconButton } from './dom.js'
import { formatBytes } from './format.js'
import { image, IMAGE_TYPES, openPreview } from './preview.js'

/** Larger images are shown on a click. */
const MAX_IMAGE_BYTES = 4 << 20

/** @typedef {import('../javascript/src/wire.js').FileRef} FileRef */

/**
 * @param {import('../javascript/src/index.js').Aptix} aptix
 * @param {FileRef[]} files
 */
export function answerFiles(aptix, files) {
  const problem = el('div', {})
  const item = (/** @type {FileRef} */ file) => {
    const { Name, Url, SizeBytes, MimeType } = file
    const load = async () => new Blob([await (await aptix.open(Url)).blob()], { type: MimeType })
    const run = (/** @type {() => Promise<void>} */ action) => action().catch((error) => problem.append(errorMessage(error)))
    const open = () => run(async () => openPreview(Name, await load()))
    const save = () => run(async () => download(await load(), Name))
    const node = el(
      'li',
      {},
      button(escapeInvisible(Name), open, { class: 'preview', title: `Preview ${escapeInvisible(Name)}` }),
      el('small', {}, formatBytes(SizeBytes)),
      iconButton('download', `Download ${escapeInvisible(Name)}`, save),
    )
    if (IMAGE_TYPES.includes(MimeType) && SizeBytes <= MAX_IMAGE_BYTES) void run(async () => node.prepend(image(await load(), '', 'thumbnail')))
    return node
  }
  return el('div', {}, el('ul', { class: 'chips', 'aria-label': 'Files' }, files.map(item)), problem)
}
