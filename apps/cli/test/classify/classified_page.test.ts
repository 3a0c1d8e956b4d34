import { expect, it } from 'vitest'
import { classifiedPage } from '../../src/classify/classified_page.js'

it('classifiedPage keeps the accent for results: neither a class nor a wrong text has it', () => {
  const labels = ['a', 'b', 'c', 'd', 'e', 'f']
  const probabilities = Object.fromEntries(labels.map((label) => [label, 1 / 6]))
  const result = { label: 'a', probability: 1 / 6, probabilities }
  const page = classifiedPage([{ source: 'walk:1', text: 'text', label: 'b', result }], labels, undefined, [])
  const [, body] = page.split('<body>')
  expect(body).toContain('class="wrong"')
  expect(body).not.toContain('var(--ours)')
  expect(page).not.toMatch(/\.wrong \{[^}]*--ours/)
})
