/**
 * The use of a budget at the end of its window, if it goes on as it has.
 *
 * @module
 */

/** Share of a window that must be over for a forecast. */
const MIN_SHARE = 0.05

/**
 * @param {{ window: string, used: number, end: string | undefined, now: Date }} use a window of a day or a month; others have no forecast
 * @returns {number | undefined}
 */
export function forecast({ window, used, end, now }) {
  if (!end || (window !== 'day' && window !== 'month')) return undefined
  const endDate = new Date(end)
  const startDate = new Date(endDate)
  if (window === 'day') startDate.setUTCDate(startDate.getUTCDate() - 1)
  else startDate.setUTCMonth(startDate.getUTCMonth() - 1)
  const share = (now.getTime() - startDate.getTime()) / (endDate.getTime() - startDate.getTime())
  return share < MIN_SHARE || share > 1 ? undefined : used / share
}
