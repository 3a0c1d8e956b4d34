import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createMarkdownRenderer } from 'vitepress'

const guide = fileURLToPath(new URL('../../../../docs/guide/getting_started.md', import.meta.url))
/** The statements of the first example of the guide that the home page shows. */
const STATEMENTS = [/^const model = [\s\S]*?^\]\)$/m, /^await model\.fit[\s\S]*?^\}\)$/m, /^const \[scores\].*$/m]

/** HTML of the code beside the title. */
export default {
  watch: [guide],
  async load() {
    const example = readFileSync(guide, 'utf8')
    const code = STATEMENTS.map((statement) => {
      const [text] = statement.exec(example) ?? []
      if (text === undefined)
        throw new Error(`docs/guide/getting_started.md has no ${statement}, which the home page shows`)
      return text.replaceAll(/ \/\/.*$/gm, '')
    })
    const markdown = await createMarkdownRenderer('.')
    return markdown.render(`\`\`\`ts\n${code.join('\n\n')}\n\`\`\``)
  },
}
