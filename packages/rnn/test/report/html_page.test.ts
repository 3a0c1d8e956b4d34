import { parseHTML } from 'linkedom'
import { expect, it } from 'vitest'
import { htmlPage } from '../../src/report/index.js'

it('htmlPage is self-contained and shows titles as text', () => {
  const page = htmlPage({
    title: 'A model of <Moby & Dick>',
    resultHtml: '<b>2.1</b> bits',
    sections: [{ heading: 'Loss & more', html: '<p>here</p>' }],
    style: 'p { color: red; }\n',
  })
  expect(page).not.toMatch(/<script|<link|\bsrc=|\bhref=|url\(|@import/)
  expect(page).toMatch(/p { color: red; }\n<\/style>/)
  const { document } = parseHTML(page)
  expect(document.querySelector('h1')?.textContent).toBe('A model of <Moby & Dick>')
  expect(document.querySelector('.result b')?.textContent).toBe('2.1')
  expect(document.querySelector('h2')?.textContent).toBe('Loss & more')
})
