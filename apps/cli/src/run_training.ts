import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pc from 'picocolors'
import { EXIT_CODES } from './exit_codes.js'
import { withInterrupt } from './interrupt.js'
import { reportPage } from './report_page.js'
import { checkNoRun } from './run_record.js'
import { sample } from './sampler.js'
import { TerminalProgress } from './terminal_progress.js'
import type { Ending } from './trainer.js'
import { TrainingRun } from './training_run.js'

/** What the user asked for. */
export interface TrainingRequest {
  readonly directory: string
  readonly textFile: string | undefined
  readonly resume?: boolean
  /** Replace a run that the directory holds. */
  readonly overwrite?: boolean
  readonly maxSeconds?: number
  readonly steps: number
  readonly units: number
  readonly layers: number
  readonly embedding: number
  readonly dropout: number
  readonly batch: number
  readonly time: number
  readonly learningRate: number
  readonly evaluateEvery: number
  readonly seed: number
  readonly backend: string
  readonly json?: boolean
}

const SAMPLE_LENGTH = 400
const SAMPLE_TEMPERATURE = 0.7

/** Trains as requested, then prints what the model writes and leaves a report page in the run's directory. */
export async function runTraining(request: TrainingRequest): Promise<void> {
  if (!request.resume && !request.overwrite) checkNoRun(request.directory)
  const run = request.resume
    ? await TrainingRun.resume(request.directory, request.backend)
    : await TrainingRun.create(request.directory, request.backend, {
        textFile: request.textFile,
        plan: {
          steps: request.steps,
          time: request.time,
          batch: request.batch,
          learningRate: request.learningRate,
          evaluateEvery: request.evaluateEvery,
          seed: request.seed,
        },
        sizes: {
          embeddingSize: request.embedding,
          numUnits: request.units,
          numLayers: request.layers,
          dropout: request.dropout,
        },
      })
  try {
    const { ending, step } = await trainAndShow(run, request)
    await finish(run, request, ending, step)
    if (ending === 'interrupted') process.exitCode = EXIT_CODES.interrupted
  } finally {
    run.dispose()
  }
}

async function trainAndShow(run: TrainingRun, { json, maxSeconds }: TrainingRequest) {
  let progress: TerminalProgress | undefined
  try {
    return await withInterrupt((signal) =>
      run.run(
        {
          onStart: () => {
            if (json) return
            process.stdout.write(introduction(run))
            progress = new TerminalProgress(process.stdout, run.settings.plan.steps, run.startStep)
          },
          onStep: (record, charactersPerSecond) => {
            if (json) process.stdout.write(`${JSON.stringify({ ...record, charactersPerSecond })}\n`)
            else progress?.update(record, charactersPerSecond)
          },
        },
        { signal, ...(maxSeconds === undefined ? {} : { maxSeconds }) },
      ),
    )
  } finally {
    progress?.stop()
  }
}

function introduction({ backend, corpus, settings, startStep }: TrainingRun): string {
  const { numUnits, numLayers, embeddingSize } = settings.sizes
  const count = (n: number) => n.toLocaleString('en-US')
  const lines = [
    `${pc.bold('Text')}      ${corpus.name}: ${count(corpus.train.length)} characters to learn from, ${count(corpus.heldOut.length)} held out, ${corpus.vocabulary.size} different`,
    `${pc.bold('Model')}     embedding ${embeddingSize} → CudnnLSTM ${numLayers} × ${numUnits} → linear → softmax`,
    `${pc.bold('Executor')}  ${backend.reason}`,
    `${pc.bold('To beat')}   ${settings.bigramBits.toFixed(3)} bits/char: the character bigram model on the held-out text`,
  ]
  if (startStep > 0) lines.push(`${pc.bold('Resumed')}   after step ${startStep}`)
  return `${lines.join('\n')}\n\n`
}

async function finish(run: TrainingRun, { json }: TrainingRequest, ending: Ending, step: number): Promise<void> {
  const { settings, directory, history } = run
  const prompt = run.corpus.vocabulary.characters.includes('T') ? 'The ' : run.corpus.vocabulary.characters[0]!
  let text = ''
  const options = { length: SAMPLE_LENGTH, temperature: SAMPLE_TEMPERATURE, seed: settings.plan.seed, prompt }
  if (ending !== 'interrupted')
    for await (const character of sample(run.model, run.corpus.vocabulary, options)) text += character
  const reportPath = join(directory, 'report.html')
  await writeFile(reportPath, reportPage(reportOf(run, { prompt, text })))
  if (json) return

  const heldOut = history.findLast((record) => record.heldOutBits !== undefined)?.heldOutBits
  const verdict =
    heldOut === undefined
      ? 'not evaluated yet'
      : `${pc.bold(`${heldOut.toFixed(3)} bits/char`)} on the held-out text; the bigram model has ${settings.bigramBits.toFixed(3)}`
  const lines = [
    '',
    `${pc.bold('Result')}    ${verdict}`,
    ...(text === '' ? [] : ['', pc.dim('What it writes:'), `${pc.bold(prompt)}${text}`, '']),
    `${pc.bold('Report')}    ${reportPath}`,
    `${pc.bold('Sample')}    npx cudnn-rnn sample ${directory}`,
  ]
  if (ending !== 'finished') {
    const why = ending === 'interrupted' ? 'Interrupted' : 'Out of time'
    lines.push(
      `${pc.yellow(why)} after step ${step} of ${settings.plan.steps}; everything up to it is saved in ${directory}.`,
      `${pc.bold('Go on')}     npx cudnn-rnn train --resume --out ${directory}`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}

function reportOf({ settings, corpus, history, backend }: TrainingRun, sampled: { prompt: string; text: string }) {
  const { plan, sizes } = settings
  return {
    title: `A character model of ${corpus.name}`,
    history,
    bigramBits: settings.bigramBits,
    sample: sampled,
    settings: [
      [
        'Text',
        `${corpus.name}, ${corpus.train.length.toLocaleString('en-US')} characters, ${corpus.vocabulary.size} different`,
      ],
      ['Held out', `${corpus.heldOut.length.toLocaleString('en-US')} characters at the end`],
      [
        'Model',
        `embedding ${sizes.embeddingSize}, CudnnLSTM ${sizes.numLayers} × ${sizes.numUnits}, dropout ${sizes.dropout}`,
      ],
      [
        'Training',
        `${history.length} of ${plan.steps} steps of ${plan.batch} × ${plan.time} characters, Adam at ${plan.learningRate}`,
      ],
      ['Executor', backend.reason],
      ['Seed', String(plan.seed)],
    ] as const,
  }
}
