import { Presets, SingleBar } from 'cli-progress'
import type { StepRecord } from './trainer.js'

/** Without a terminal, a line is printed at most every so many seconds. */
const SECONDS_BETWEEN_LINES = 5

/** The bar takes what the figures leave of the line: all of them are to be seen on 80 columns. */
const FIGURES_WIDTH = 76
const SHORTEST_BAR = 4
const LONGEST_BAR = 24

/** Shows how training goes: a bar on a terminal, plain lines anywhere else. */
export class TerminalProgress {
  readonly #stream: NodeJS.WriteStream
  readonly #steps: number
  readonly #bar: SingleBar | undefined
  #lastLine = 0
  #heldOut = '–'

  /** @param doneSteps where a resumed run begins. */
  constructor(stream: NodeJS.WriteStream, steps: number, doneSteps: number) {
    this.#stream = stream
    this.#steps = steps
    if (!stream.isTTY) return
    const format =
      '{bar} {percentage}%  loss {loss}  {bits} bits/char  held-out {heldOut}  {rate} chars/s  {eta_formatted} left'
    const barsize = Math.max(SHORTEST_BAR, Math.min(LONGEST_BAR, stream.columns - FIGURES_WIDTH))
    this.#bar = new SingleBar({ format, stream, hideCursor: true, barsize, etaBuffer: 150 }, Presets.shades_classic)
    this.#bar.start(steps, doneSteps, { loss: '–', bits: '–', heldOut: '–', rate: '–' })
  }

  update(record: StepRecord, charactersPerSecond: number): void {
    if (record.heldOutBits !== undefined) this.#heldOut = record.heldOutBits.toFixed(3)
    const loss = (record.bits * Math.LN2).toFixed(3)
    const bits = record.bits.toFixed(3)
    const rate = Math.round(charactersPerSecond).toLocaleString('en-US')
    if (this.#bar !== undefined) {
      this.#bar.update(record.step, { loss, bits, heldOut: this.#heldOut, rate })
      return
    }
    const now = Date.now()
    const important = record.heldOutBits !== undefined || record.step === this.#steps
    if (!important && now - this.#lastLine < SECONDS_BETWEEN_LINES * 1000) return
    this.#lastLine = now
    this.#stream.write(
      `step ${record.step}/${this.#steps}  loss ${loss} nats  ${bits} bits/char  held-out ${this.#heldOut}  ${rate} chars/s\n`,
    )
  }

  stop(): void {
    this.#bar?.stop()
  }
}
