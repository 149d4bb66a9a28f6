/**
 * Photos in the size that models read: a larger one costs time and is scaled down by the provider anyway.
 *
 * @module
 */

/** Longest side, in pixels. */
const MAX_SIDE = 2048
/** Size up to which an image stays as it is, unless a side is too long. */
const MAX_BYTES = 1 << 20
const QUALITY = 0.85
/** Types that are scaled. A GIF may be animated. */
const TYPES = ['image/png', 'image/jpeg', 'image/webp']

/**
 * Scales an image down if it is large.
 * @param {File} file
 * @returns {Promise<File | undefined>} undefined if the browser can't decode it: the API would refuse it too
 */
export async function scaledImage(file) {
  const bitmap = await createImageBitmap(file).catch(() => undefined)
  if (!bitmap) return undefined
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height))
  if (!TYPES.includes(file.type) || (scale === 1 && file.size <= MAX_BYTES)) return file
  const canvas = new OffscreenCanvas(Math.round(bitmap.width * scale), Math.round(bitmap.height * scale))
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  bitmap.close()
  // A JPEG has no transparency, which screenshots with PNG rarely have either.
  const blob = await canvas.convertToBlob({ type: file.type === 'image/png' && file.size <= MAX_BYTES ? 'image/png' : 'image/jpeg', quality: QUALITY })
  return blob.size < file.size ? new File([blob], file.name, { type: blob.type }) : file
}
