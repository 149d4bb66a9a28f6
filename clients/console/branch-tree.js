/**
 * The branches that reruns make in a session.
 *
 * @module
 */

/** @typedef {Pick<import('../javascript/src/wire.js').SessionTurn, 'Id' | 'SequenceNumber' | 'Status'> & { RerunOfTurnId?: unknown }} BranchTurn */

/**
 * The branches of a session, from its turns in order. An ordinary turn continues from the newest one of the current branch. A rerun
 * continues from where the original did, and the session continues from the rerun once it is completed.
 * @param {Iterable<BranchTurn>} turns
 */
export function branchesOf(turns) {
  /** @type {Map<string, BranchTurn | undefined>} */
  const parents = new Map()
  const ordered = [...turns].sort((a, b) => a.SequenceNumber - b.SequenceNumber)
  /** @type {BranchTurn | undefined} */
  let tip
  for (const turn of ordered) {
    const isRerun = typeof turn.RerunOfTurnId === 'string'
    parents.set(turn.Id, isRerun ? parents.get(String(turn.RerunOfTurnId)) : tip)
    if (!isRerun || turn.Status.Id === 'completed') tip = turn
  }
  /** @param {BranchTurn | undefined} last */
  const ancestry = (last) => {
    /** @type {Set<BranchTurn>} */
    const found = new Set()
    for (let turn = last; turn && !found.has(turn); turn = parents.get(turn.Id)) found.add(turn)
    return found
  }
  const current = ancestry(tip)
  return {
    /** Turns that the model no longer sees. */
    outside: ordered.filter((turn) => !current.has(turn) && (turn.RerunOfTurnId === undefined || turn.Status.Id === 'completed')),
    /** The rerun that the current branch starts with: the newest one. */
    start: [...current].find(({ RerunOfTurnId }) => RerunOfTurnId !== undefined),
    /**
     * Returns the turns that the model no longer sees after a rerun.
     * @param {string} turnId
     */
    droppedBy(turnId) {
      const kept = ancestry(parents.get(turnId))
      return [...current].filter((turn) => !kept.has(turn)).reverse()
    },
  }
}

/**
 * Names turns by their numbers: `turn 2`, `turns 2 and 3`, `turns 2, 4 to 7`.
 * @param {BranchTurn[]} turns
 */
export function turnNames(turns) {
  /** @type {[number, number][]} */
  const ranges = []
  for (const { SequenceNumber: number } of turns) {
    const last = ranges.at(-1)
    if (last && last[1] + 1 === number) last[1] = number
    else ranges.push([number, number])
  }
  const texts = ranges.map(([first, last]) => (first === last ? `${first}` : `${first} ${last === first + 1 ? 'and' : 'to'} ${last}`))
  return `${turns.length === 1 ? 'turn' : 'turns'} ${texts.join(', ')}`
}
