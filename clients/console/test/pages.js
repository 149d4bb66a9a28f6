/**
 * Page object of the console, shared by its browser tests.
 *
 * @module
 */

import { readFileSync } from 'node:fs'

import { Page } from '../../javascript/test/chromium.js'

const axe = readFileSync(new URL('../../javascript/node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** Expression for the element of the newest turn. */
export const newestTurn = `[...document.querySelectorAll('article.turn')].at(-1)`
/** Expression that is true if a message can be sent. */
export const isIdle = `document.querySelector('.composer .primary')?.disabled === false`

export class ConsolePage {
  /** @param {Page} page */
  constructor(page) {
    this.page = page
    /** Key of the console, for URLs without one. */
    this.key = ''
  }

  static async open() {
    return new ConsolePage(await Page.open())
  }

  /**
   * @param {string} url URL of the console, or the link to it
   * @param {string} [hash] page of the console
   */
  async visit(url, hash = '#/chat') {
    const [base, key = this.key] = url.split('/#key=')
    await this.page.send('Page.navigate', { url: 'about:blank' })
    await this.page.until(`location.href === 'about:blank'`)
    await this.page.visit(`${base}/#key=${key}${hash.slice(1)}`)
    await this.page.until(`!!document.querySelector('main h1') && !!document.querySelector('nav a')`)
  }

  /**
   * Sends a message in the chat.
   * @param {unknown} text
   */
  async send(text) {
    await this.page.until(isIdle)
    await this.page.run(`(() => {
      const field = document.querySelector('.composer textarea')
      field.value = ${JSON.stringify(String(text))}
      field.focus()
    })()`)
    await this.page.press('Enter', '\r')
  }

  /**
   * Drops files on the chat.
   * @param {{ name: string, type: string, text?: string, base64?: string }[]} files
   */
  drop(files) {
    return this.page.run(`(() => {
      const data = new DataTransfer()
      for (const { name, type, text, base64 } of ${JSON.stringify(files)}) {
        const content = text ?? Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
        data.items.add(new File([content], name, { type }))
      }
      document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    })()`)
  }

  /**
   * Clicks the button with this label.
   * @param {string} label
   * @param {string} [within]
   */
  async press(label, within = 'body') {
    const button = `[...document.querySelector(${JSON.stringify(within)}).querySelectorAll('button')].find((candidate) => (candidate.ariaLabel ?? candidate.textContent) === ${JSON.stringify(label)} && candidate.checkVisibility() && !candidate.disabled)`
    await this.page.until(`!!${button}`)
    await this.page.run(`${button}.click()`)
  }

  /** Cancels the dialog. It is removed a task after the click. */
  async cancel() {
    await this.press('Cancel', 'dialog')
    await this.page.until(`!document.querySelector('dialog')`)
  }

  /** Returns axe's accessibility violations on the current page, as short texts. */
  async violations() {
    // A color that is still changing can lack contrast.
    await this.page.until(`document.getAnimations().every((animation) => !(animation instanceof CSSTransition))`)
    // The page's content security policy would block axe.
    await this.page.send('Page.setBypassCSP', { enabled: true })
    return this.page.run(`(async () => {
      if (!window.axe) (0, eval)(${JSON.stringify(axe)})
      const { violations } = await axe.run(document, { resultTypes: ['violations'] })
      return violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 120)).join(' | '))
    })()`)
  }

  /** Pixels by which the page, or a list on it, is wider than the viewport. */
  get overflow() {
    const lists = `[...document.querySelectorAll('.list')].map((list) => list.offsetWidth - list.parentElement.clientWidth)`
    return this.page.run(`Math.max(document.documentElement.scrollWidth - innerWidth, ...${lists})`)
  }

  end() {
    return this.page.end()
  }
}
