/**
 * Attachments of a turn: its files by name, and its images by name and thumbnail. A click opens a preview.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'
import { image as imageElement, IMAGE_TYPES, openPreview } from './preview.js'

/** @typedef {{ name: string, image?: Blob, file?: Blob }} Attachment */

/**
 * Returns the attachments of a message that is about to be sent.
 * @param {File[]} files
 * @param {File[]} images
 * @returns {Attachment[]}
 */
export const attachmentsOf = (files, images) => [
  ...files.map((file) => ({ name: file.webkitRelativePath || file.name, file })),
  ...images.map((image) => ({ name: image.name, image })),
]

/**
 * Reads a turn's instruction and attachments from its stored request. Returns undefined if that was no JSON.
 * @param {string} request
 * @returns {{ instruction: string, attachments: Attachment[] } | undefined}
 */
export function parseRequest(request) {
  try {
    const { Instruction = '', InputArtifacts, ClipboardImages } = JSON.parse(request)
    const files = /** @type {{ RelativePath?: string, FileName?: string, Contents?: string, Encoding?: string }[]} */ (InputArtifacts ?? [])
    const images = /** @type {{ Id?: string, MimeType: string, DataBase64: string }[]} */ (ClipboardImages ?? [])
    const attachments = [
      ...files.map(({ RelativePath, FileName, Contents, Encoding }) => ({
        name: RelativePath ?? FileName ?? 'file',
        file: Contents === undefined ? undefined : Encoding === 'base64' ? new Blob([bytes(Contents)]) : new Blob([Contents], { type: 'text/plain' }),
      })),
      ...images.map(({ Id, MimeType, DataBase64 }, index) => ({
        name: Id ?? `clipboard-${index + 1}`,
        image: IMAGE_TYPES.includes(MimeType) ? new Blob([bytes(DataBase64)], { type: MimeType }) : undefined,
      })),
    ]
    return { instruction: Instruction, attachments }
  } catch {
    return undefined
  }
}

/** @param {Attachment[]} attachments */
export function attachmentList(attachments) {
  if (attachments.length === 0) return ''
  return el(
    'ul',
    { class: 'chips', 'aria-label': 'Attachments' },
    attachments.map((attachment) => el('li', {}, attachmentView(attachment))),
  )
}

/** @param {Attachment} attachment */
export function attachmentView({ name, image, file }) {
  const label = escapeInvisible(name)
  const shown = image ?? file
  if (!shown) return label
  // The name beside the image is its description.
  const open = () => void openPreview(name, shown)
  return el('button', { type: 'button', class: 'preview', title: `Preview ${label}`, onclick: open }, label, image && imageElement(image, '', 'thumbnail'))
}

/** @param {string} base64 */
const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
