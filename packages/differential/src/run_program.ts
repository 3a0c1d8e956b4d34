import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { KINDS, type Program, type Statement } from './program.js'
import { type MadeOpaque, ProgramState } from './program_state.js'
import type { Effect } from './statement_effect.js'
import { begin, isBlock } from './statement_table.js'

/** Outcome of one statement. */
interface Outcome {
  /** Its position in the program, and its kind. */
  readonly statement: string
  /** Code of the error, if it failed. */
  readonly code?: string
  readonly values: Readonly<Record<string, ArrayLike<number>>>
}

/** Observable results of a program on one executor. */
export type Trace = readonly Outcome[]

/** A rule of every executor that a program found broken, independent of the other executors. */
class BrokenRule extends Error {}

/** The tensors of one statement whose values are to be compared. */
interface Pending {
  readonly statement: string
  readonly made: NonNullable<Effect['made']>
}

/**
 * Runs a program on an executor and disposes both.
 *
 * @throws BrokenRule if an error has no code, a failed statement changed something, or something is alive at the end
 */
export async function runProgram(program: Program, backend: Backend, elsewhere: Backend): Promise<Trace> {
  const folder = await mkdtemp(join(tmpdir(), 'rnn-program-'))
  const run = new ProgramRun(new ProgramState(backend, elsewhere, program, folder))
  try {
    for (const [index, statement] of program.statements.entries()) await run.statement(statement, `${index}`)
    await run.finish()
    return run.trace
  } finally {
    backend.dispose()
    await rm(folder, { recursive: true, force: true })
  }
}

class ProgramRun {
  readonly trace: Outcome[] = []
  readonly #state: ProgramState
  readonly #pending: Pending[] = []

  constructor(programState: ProgramState) {
    this.#state = programState
  }

  async statement(statement: Statement, place: string): Promise<void> {
    const { program, backend } = this.#state
    if (statement.op === 'together') {
      const begun = statement.body.map((inner, index) => this.#begin(inner, `${place}.${index}`))
      for (const finish of await Promise.all(begun)) await finish()
    } else if (statement.op === 'trainingStep') {
      const step = async () => {
        for (const [index, inner] of statement.body.entries()) await this.statement(inner, `${place}.${index}`)
      }
      try {
        await (backend.steps === undefined || this.#state.isClosed ? step() : backend.steps.run(step))
      } catch (error) {
        throw new BrokenRule(`${place}: a step failed in which every statement's error was caught`, { cause: error })
      }
    } else {
      const before = program.watched && !place.includes('.') ? await this.#everything() : undefined
      await (await this.#begin(statement, place))()
      const { code } = this.trace[this.trace.length - 1]
      // Training stops in the middle of its steps.
      if (before !== undefined && code !== undefined && statement.op !== 'train') {
        const after = await this.#everything()
        for (const [name, value] of Object.entries(before)) {
          if (after[name] === value) continue
          throw new BrokenRule(
            `${place} ${statement.op} failed with ${code} and changed ${name}: ${value} → ${after[name]}`,
          )
        }
      }
    }
    if (place.includes('.')) return
    const { tensors, tapes, rnns } = backend.stats()
    const alive = [tensors - this.#state.countersOfAdam(), tapes, rnns]
    this.trace.push({ statement: `after ${place}`, values: { alive } })
  }

  /** Reads all that is left, disposes it in the program's order, and looks at the books. */
  async finish(): Promise<void> {
    const { backend, program, isClosed } = this.#state
    for (const { statement, made } of this.#pending) {
      this.trace.push({ statement: `at the end ${statement}`, values: await this.#valuesOf(made) })
    }
    if (!isClosed) {
      const values: Record<string, ArrayLike<number>> = {}
      for (const [index, opaque] of this.#state.opaques.entries()) {
        if (!opaque.isGone) values[`opaque ${index}`] = await this.#state.canonicalOf(opaque)
      }
      for (const [index, { tensor, isGone }] of this.#state.tensors.entries()) {
        if (!isGone) values[`tensor ${index}`] = (await tensor.read()).data.slice()
      }
      this.trace.push({ statement: 'at the end', values })
    }
    const left = [...KINDS.flatMap((kind) => this.#state.owned(kind)), backend]
    for (let order = program.ending + 1; left.length > 0; order = (order * 48_271) % 0x7fffffff) {
      left.splice(order % left.length, 1)[0].dispose()
    }
    const stats = backend.stats()
    const alive = Object.entries(stats).filter(([, count]) => count !== 0)
    if (alive.length > 0) throw new BrokenRule(`after everything was disposed ${alive.join('; ')} are left`)
  }

  /** Starts a statement; its promise records the outcome. */
  async #begin(statement: Statement, place: string): Promise<() => Promise<void>> {
    if (isBlock(statement)) throw new Error('a block in a block')
    const name = `${place} ${statement.op}`
    try {
      const { values = {}, made = {}, commit } = await begin(this.#state, statement)
      return async () => {
        commit?.()
        const { eager } = this.#state.program
        this.trace.push({ statement: name, values: { ...values, ...(eager && (await this.#valuesOf(made))) } })
        if (!eager) this.#pending.push({ statement: name, made })
      }
    } catch (error) {
      const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
      if (typeof code !== 'string' || !code.startsWith('ERR_')) {
        throw new BrokenRule(`${name} failed without a code: ${String(message)}`, { cause: error })
      }
      return async () => void this.trace.push({ statement: name, code, values: {} })
    }
  }

  /** The values of live objects. */
  async #valuesOf(made: NonNullable<Effect['made']>): Promise<Record<string, ArrayLike<number>>> {
    const values: Record<string, ArrayLike<number>> = {}
    if (this.#state.isClosed) return values
    for (const [name, tensor] of Object.entries(made)) {
      if (tensor === undefined || (isOpaque(tensor) ? tensor.variable.value : tensor).disposed) continue
      if (isOpaque(tensor)) values[name] = await this.#state.canonicalOf(tensor)
      else {
        const { data, shape } = await tensor.read()
        values[name] = data.slice()
        values[`shape of ${name}`] = shape
      }
    }
    return values
  }

  /** All that a failed statement must not change: by name, as text that is equal where it is. */
  async #everything(): Promise<Record<string, string>> {
    const { backend, models, opaques, tensors, tapes, streams, optimizers, isClosed } = this.#state
    const all: Record<string, string> = { stats: JSON.stringify(backend.stats()) }
    for (const [index, { tape }] of tapes.entries()) all[`tape ${index}`] = tape.state
    for (const [index, { optimizer }] of optimizers.entries()) all[`optimizer ${index}`] = String(optimizer.step)
    if (isClosed) return all
    for (const [index, { model, isGone }] of models.entries()) {
      if (!isGone) all[`dropout of model ${index}`] = digest(await model.dropoutState())
    }
    for (const [index, { variable, isGone }] of opaques.entries()) {
      if (!isGone) all[`opaque ${index}`] = digest((await variable.value.read()).data)
    }
    for (const [index, { tensor, isGone }] of tensors.entries()) {
      if (!isGone) all[`tensor ${index}`] = digest((await tensor.read()).data)
    }
    for (const [index, { optimizer, isGone }] of optimizers.entries()) {
      const slots = isGone ? [] : optimizer.slots
      for (const slot of slots) all[`${index} ${slot.name}`] = digest((await slot.value.read()).data)
    }
    for (const [index, { stream, isGone }] of streams.entries()) {
      if (isGone) continue
      const { h, c } = await stream.state()
      all[`stream ${index}`] = digest(h.data, ...(c === undefined ? [] : [c.data]))
    }
    return all
  }
}

function isOpaque(made: BackendTensor | MadeOpaque): made is MadeOpaque {
  return 'variable' in made
}

function digest(...arrays: readonly ArrayBufferView[]): string {
  const hash = createHash('sha1')
  for (const { buffer, byteOffset, byteLength } of arrays) hash.update(new Uint8Array(buffer, byteOffset, byteLength))
  return hash.digest('base64')
}
