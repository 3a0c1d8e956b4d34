import type { MarkdownEnv, MarkdownRenderer } from 'vitepress'

type Fence = NonNullable<MarkdownRenderer['renderer']['rules']['fence']>

/** What pages need beyond Markdown without HTML. */
export function addMarkdownRules(markdown: MarkdownRenderer): void {
  const { rules } = markdown.renderer
  const fence = rules.fence as Fence
  // Code blocks of the language `chart` are figures that the build made.
  rules.fence = (tokens, index, ...rest) =>
    tokens[index].info === 'chart' ? tokens[index].content : fence(tokens, index, ...rest)
  // TypeDoc writes anchors into tables, and documents write line breaks into them.
  rules.text = (tokens, index) =>
    markdown.utils
      .escapeHtml(tokens[index].content)
      .replaceAll(/&lt;a id=&quot;([\w-]+)&quot;&gt;&lt;\/a&gt;/g, '<a id="$1"></a>')
      .replaceAll('&lt;br&gt;', '<br>')
      // Sizes such as 1 × 70 × 512 stay on one line.
      .replaceAll(/(?<=\d) × (?=\d)/g, '\u00a0×\u00a0')
  // Codes such as ERR_INVALID_OPTION break at their underscores, so that tables fit narrow screens.
  const code = rules.code_inline as Fence
  rules.code_inline = (tokens, index, ...rest) =>
    /^[A-Z]+(_[A-Z0-9]+)+$/.test(tokens[index].content)
      ? code(tokens, index, ...rest).replaceAll('_', '_<wbr>')
      : code(tokens, index, ...rest)
  markdown.core.ruler.push('columns', ({ tokens, env, Token }) => {
    if (!(env as MarkdownEnv).relativePath?.startsWith('migration/')) return
    const html = (content: string) => Object.assign(new Token('html_block', '', 0), { content })
    for (let at = tokens.length - 2; at >= 0; at--) {
      if (tokens[at].type !== 'fence' || tokens[at + 1].type !== 'fence') continue
      const [before, after] = tokens.slice(at, at + 2)
      const opened = [html('<div class="columns">\n'), before, after, html('</div>\n')]
      tokens.splice(at, 2, ...opened)
    }
  })
}

/**
 * The text of a page for the search, without the labels of its charts. A page of the API is found by its title, the sentence
 * beneath it and the names of its members: all types of all parameters would be three quarters of the index. A decision is found
 * by its title and its context.
 */
export function searchedText(source: string, env: MarkdownEnv, markdown: MarkdownRenderer): string {
  const html = markdown.render(source, env).replaceAll(/<figure [\s\S]*?<\/figure>/g, '')
  if (!/^(?:api|decisions)\//.test(env.relativePath)) return html
  const title = /<h1[\s\S]*?<\/h1>/.exec(html)?.[0] ?? ''
  const sentence = /<p>.*?<\/p>/s.exec(html.slice(html.indexOf('</h1>')))?.[0] ?? ''
  const members = [...html.matchAll(/<h3[^>]*>\s*([\w$]+)|<a id="(?:property-)?([\w$]+)"><\/a>/g)].map(
    ([, heading, row]) => heading ?? row,
  )
  return `${title}${sentence}<p>${[...new Set(members)].join(' ')}</p>`
}
