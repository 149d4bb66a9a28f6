/**
 * Tools of the agent, by name. `contexts.json` declares them to the model.
 *
 * @type {Record<string, import('aptix').Tool>}
 */
export const tools = {
  /** Returns the current date and time in a time zone. */
  current_time({ time_zone }) {
    return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone: time_zone }).format(new Date())
  },
}
