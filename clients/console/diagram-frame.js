/**
 * Runs in a hidden, sandboxed frame: draws a Mermaid diagram for each message of the console, and answers with the SVG.
 * Mermaid builds markup and inserts styles, which the console's own policy forbids.
 */

addEventListener('message', async ({ source, data, ports: [port] }) => {
  if (source !== parent || !port) return
  const { mermaid } = /** @type {any} */ (globalThis)
  const { text, colors, isDark } = data
  try {
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: 'strict',
      suppressErrorRendering: true,
      htmlLabels: false,
      flowchart: { htmlLabels: false },
      look: 'classic',
      theme: 'base',
      fontFamily: 'system-ui, sans-serif',
      themeVariables: {
        darkMode: isDark,
        fontSize: '14px',
        background: colors.card,
        mainBkg: colors['accent-soft'],
        primaryColor: colors['accent-soft'],
        primaryTextColor: colors.text,
        primaryBorderColor: colors.accent,
        secondaryColor: colors.code,
        secondaryTextColor: colors.text,
        secondaryBorderColor: colors['line-strong'],
        tertiaryColor: colors.hover,
        tertiaryTextColor: colors.text,
        tertiaryBorderColor: colors['line-strong'],
        lineColor: colors.muted,
        textColor: colors.text,
        titleColor: colors.text,
        noteBkgColor: colors['warn-soft'],
        noteTextColor: colors.text,
        noteBorderColor: colors.warn,
        edgeLabelBackground: colors.card,
        pie1: colors.accent,
        pie2: colors.good,
        pie3: colors.warn,
        pie4: colors.danger,
        pieOpacity: 1,
        pieSectionTextColor: colors.card,
      },
    })
    const { svg } = await mermaid.render('diagram', text)
    const holder = document.createElement('div')
    holder.innerHTML = svg
    const { firstElementChild: drawn } = holder
    if (!drawn) throw new Error('Nothing was drawn.')
    // An image has to be well-formed XML, which Mermaid's text need not be.
    port.postMessage({ svg: new XMLSerializer().serializeToString(drawn), title: drawn.querySelector(':scope > title')?.textContent ?? '' })
  } catch (error) {
    port.postMessage({ error: error instanceof Error ? error.message : String(error) })
  }
})
