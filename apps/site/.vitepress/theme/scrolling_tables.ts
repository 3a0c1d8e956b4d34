/** Marks tables that are wider than the page, until they are scrolled to their end. */
export function markScrollingTables(): void {
  for (const table of document.querySelectorAll<HTMLElement>('.vp-doc table')) {
    const mark = () => {
      const hidden = table.scrollWidth - table.clientWidth - table.scrollLeft
      table.classList.toggle('scrolls', hidden > 1)
      // The keyboard scrolls what has the focus.
      if (table.scrollWidth > table.clientWidth) table.tabIndex = 0
    }
    table.addEventListener('scroll', mark, { passive: true })
    new ResizeObserver(mark).observe(table)
  }
}
