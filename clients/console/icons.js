/**
 * Icons as inline SVG, drawn with the text's colour. They are decoration: the button around one has a label.
 *
 * @module
 */

const NAMESPACE = 'http://www.w3.org/2000/svg'

/** Paths on a grid of 24 by 24, drawn as lines. */
const PATHS = {
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM20 20l-4-4',
  panel: 'M4 5h16v14H4zM9.5 5v14',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z',
  system: 'M3 5h18v11H3zM8 20h8M12 16v4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  org: 'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14a6.5 6.5 0 0 1 3.5 6',
  pin: 'M9 4h6l-1 6 3 3H7l3-3-1-6ZM12 13v7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  fork: 'M7 4v16M7 12h6a4 4 0 0 0 4-4V4M14 6.5 17 3.5l3 3',
  rerun: 'M20 11a8 8 0 1 0-2.3 6M20 5v6h-6',
  up: 'M7 11v9H4v-9zM7 11l4-8a2.5 2.5 0 0 1 2.4 3L13 9h5.5a2 2 0 0 1 2 2.4l-1.4 7a2 2 0 0 1-2 1.6H7',
  down: 'M17 13V4h3v9zM17 13l-4 8a2.5 2.5 0 0 1-2.4-3l.4-3H5.5a2 2 0 0 1-2-2.4l1.4-7a2 2 0 0 1 2-1.6H17',
  latest: 'M12 5v14M6 13l6 6 6-6',
  trace: 'M4 6h9M8 12h9M12 18h8',
  attach: 'M20 11.5 12 19.5a5 5 0 0 1-7-7l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7L9.7 17a1.7 1.7 0 0 1-2.4-2.4l7.7-7.6',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  download: 'M12 4v11M7 10.5l5 5 5-5M5 20h14',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  spark: 'M12 3l1.9 5.6L19.5 10.5l-5.6 1.9L12 18l-1.9-5.6L4.5 10.5l5.6-1.9Z',
  tool: 'M14.5 6.5a4 4 0 0 1 5-3.8l-2.6 2.6 1.8 1.8 2.6-2.6a4 4 0 0 1-5.3 5L8 17.5a2 2 0 1 1-2.8-2.8l8-8',
  close: 'M6 6l12 12M18 6 6 18',
}

/** @typedef {keyof typeof PATHS} IconName */

/** @param {IconName} name */
export function icon(name) {
  const svg = document.createElementNS(NAMESPACE, 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const path = document.createElementNS(NAMESPACE, 'path')
  path.setAttribute('d', PATHS[name])
  svg.append(path)
  return svg
}
