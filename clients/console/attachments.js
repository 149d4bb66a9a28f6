/**
 * Attachments of a turn: its files by name, and its images by name and thumbnail.
 *
 * @module
 */

import { escapeInvisible } from '../javascript/src/patch.js'
import { el } from './dom.js'

/** Formats that every browser shows. */
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** @typedef {{ name: string, image?: Blob }} Attachment */

/**
 * Returns the attachments of a message that is about to be sent.
 * @param {File[]} files
 * @param {File[]} images
 * @returns {Attachment[]}
 */
export const attachmentsOf = (files, images) => [
  ...files.map(({ name, webkitRelativePath }) => ({ name: webkitRelativePath || name })),
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
    const files = /** @type {{ RelativePath?: string, FileName?: string }[]} */ (InputArtifacts ?? [])
    const images = /** @type {{ Id?: string, MimeType: string, DataBase64: string }[]} */ (ClipboardImages ?? [])
    const attachments = [
      ...files.map(({ RelativePath, FileName }) => ({ name: RelativePath ?? FileName ?? 'file' })),
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
  const items = attachments.map(({ name, image }) => el('li', {}, image && thumbnail(image), escapeInvisible(name)))
  return el('ul', { class: 'chips', 'aria-label': 'Attachments' }, items)
}

/** @param {Blob} image */
function thumbnail(image) {
  const src = URL.createObjectURL(image)
  const release = () => URL.revokeObjectURL(src)
  // The name beside it is its description.
  return el('img', { src, alt: '', class: 'thumbnail', onload: release, onerror: release })
}

/** @param {string} base64 */
const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
