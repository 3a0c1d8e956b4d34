import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const PROGRAM = readFileSync(fileURLToPath(new URL('../torch_baseline.py', import.meta.url)), 'utf8')

/** The statements of one function of the program, without comments. */
function statements(name: string): readonly string[] {
  const [, body] = new RegExp(`^def ${name}\\(.*\\):\\n((?: {4}.*\\n|\\n)+)`, 'm').exec(PROGRAM)!
  return body
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

// Tests run without Python, so these read the program. They hold the settings without which PyTorch is timed unfairly.
describe('torch_baseline.py', () => {
  it('allows tensor cores at every precision but float32, before the network is made', () => {
    const made = statements('network_of')
    const network = made.findIndex((line) => line.startsWith('network = CELLS['))
    for (const flag of ['torch.backends.cudnn.allow_tf32', 'torch.backends.cuda.matmul.allow_tf32']) {
      const settings = made.filter((line) => line.startsWith(flag))
      expect(settings).toEqual([`${flag} = r["precision"] != "float32"`])
      expect(made.indexOf(settings[0])).toBeLessThan(network)
    }
    for (const action of ['passes', 'character', 'parity']) {
      expect(statements(action).some((line) => line.includes('network_of(r, '))).toBe(true)
    }
    expect(PROGRAM.match(/allow_tf32/g)).toHaveLength(2)
  })

  it('times the forward in eval mode without gradients, and the training step in training mode', () => {
    const made = statements('passes')
    const places = ['network.eval()', 'best(forward,', 'network.train()', 'best(training,'].map((part) =>
      made.findIndex((line) => line.includes(part)),
    )
    expect(places).not.toContain(-1)
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(made[made.indexOf('def forward():') + 1]).toBe('with torch.no_grad():')
  })
})
