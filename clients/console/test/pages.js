/**
 * What the tests of the console's pages share: a page of a local cloud's console, and how its parts are used.
 *
 * @module
 */

import { readFileSync } from 'node:fs'

import { Page } from '../../javascript/test/chromium.js'

const axe = readFileSync(new URL('../../javascript/node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** The newest turn, as it is shown. */
export const newest = `[...document.querySelectorAll('article.turn')].at(-1)`
/** Whether something can be said. */
export const idle = `document.querySelector('.composer .primary')?.disabled === false`

export class Console {
  /** @param {Page} page */
  constructor(page) {
    this.page = page
    this.url = ''
  }

  static async open() {
    return new Console(await Page.open())
  }

  /**
   * @param {string} url where the console is
   * @param {string} [hash] which of its pages
   */
  async visit(url, hash = '#/chat') {
    this.url = url
    await this.page.send('Page.navigate', { url: 'about:blank' })
    await this.page.until(`location.href === 'about:blank'`)
    await this.page.visit(`${url}/${hash}`)
    await this.page.until(`!!document.querySelector('main h1') && !!document.querySelector('nav a')`)
  }

  /** @param {unknown} text */
  async say(text) {
    await this.page.until(idle)
    await this.page.run(`(() => {
      const field = document.querySelector('.composer textarea')
      field.value = ${JSON.stringify(String(text))}
      field.focus()
    })()`)
    await this.page.press('Enter', '\r')
  }

  /**
   * Presses the button with this label.
   * @param {string} label
   * @param {string} [within]
   */
  async press(label, within = 'body') {
    const button = `[...document.querySelector(${JSON.stringify(within)}).querySelectorAll('button')].find((one) => (one.ariaLabel ?? one.textContent) === ${JSON.stringify(label)} && one.checkVisibility() && !one.disabled)`
    await this.page.until(`!!${button}`)
    await this.page.run(`${button}.click()`)
  }

  /** What axe finds on the page as it is, in a few words. */
  async violations() {
    // The tool itself is no part of the page, whose policy allows it nothing.
    await this.page.send('Page.setBypassCSP', { enabled: true })
    return this.page.run(`(async () => {
      if (!window.axe) (0, eval)(${JSON.stringify(axe)})
      const { violations } = await axe.run(document, { resultTypes: ['violations'] })
      return violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 120)).join(' | '))
    })()`)
  }

  /** By how much the page, or a list on it, is wider than what it is shown on. */
  get excess() {
    const lists = `[...document.querySelectorAll('.list')].map((list) => list.offsetWidth - list.parentElement.clientWidth)`
    return this.page.run(`Math.max(document.documentElement.scrollWidth - innerWidth, ...${lists})`)
  }

  end() {
    return this.page.end()
  }
}
