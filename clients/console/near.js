/**
 * Work that waits until its element is about to be seen. One observer serves all elements. It observes those of a group only while the group
 * is near, so that a long conversation costs little per frame.
 *
 * @module
 */

/** Time that an element is near the viewport before its work starts: not when the reader scrolls past it. */
const NEAR_DELAY_MS = 100

/**
 * @typedef {{ action: () => void, group?: Element | undefined, timer?: ReturnType<typeof setTimeout> }} Work
 */

/** Work by element. @type {WeakMap<Element, Work>} */
const waiting = new WeakMap()
/** Elements with work, by group. @type {WeakMap<Element, Set<Element>>} */
const groups = new WeakMap()
/** @type {IntersectionObserver | undefined} */
let observer

/** @param {IntersectionObserverEntry[]} entries */
function update(entries) {
  for (const { target, isIntersecting } of entries) {
    const work = waiting.get(target)
    clearTimeout(work?.timer)
    if (work && isIntersecting) work.timer = setTimeout(() => run(target, work), NEAR_DELAY_MS)
    for (const member of groups.get(target) ?? []) {
      if (isIntersecting) observer?.observe(member)
      else observer?.unobserve(member)
    }
  }
}

/**
 * @param {Element} element
 * @param {Work} work
 */
function run(element, { action, group }) {
  observer?.unobserve(element)
  waiting.delete(element)
  const members = group && groups.get(group)
  members?.delete(element)
  if (group && members?.size === 0) observer?.unobserve(group)
  action()
}

/**
 * Runs an action once the element is in the viewport, or near it, for a moment.
 * @param {Element} element
 * @param {() => void} action
 * @param {Element} [group] an element around it that has many such elements
 */
export function whenNear(element, action, group) {
  observer ??= new IntersectionObserver(update, { rootMargin: '600px' })
  waiting.set(element, { action, group })
  if (!group) return observer.observe(element)
  const members = groups.get(group) ?? new Set()
  groups.set(group, members.add(element))
  observer.observe(group)
}
