import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../src/run_program.js'
import { run } from './program_run.js'
import { refusalOf } from './refusal.js'
import { temporaryDirectory } from './small_run.js'

describe('the command line', () => {
  it.each<[string, string]>([
    ['train --text a.txt --steps 0', 'It must be an integer >= 1.'],
    ['train --text a.txt --learning-rate fast', 'It must be a number >= 0.'],
    ['train --text a.txt --wire float16', 'Allowed choices are bfloat16.'],
    ['train --text a.txt --resume always', 'Allowed choices are auto.'],
    ['train --resume auto', "required option '--text <file>' not specified"],
    ['train --text a.txt --seed -1', 'It must be an integer >= 0.'],
    ['demo --max-seconds -1', 'It must be a number in 0..2000000.'],
    ['forecast --window 1', 'It must be an integer >= 2.'],
    ['forecast --cell rnn', 'Allowed choices are lstm, gru.'],
    ['forecast --dropout 2', 'It must be a number in 0..1.'],
    ['classify --limit 19', 'It must be an integer >= 20.'],
    ['classify --format pdf', 'Allowed choices are'],
    ['run a.onnx --fix sr', 'It must have the form name=value.'],
    ['run a.onnx --fix sr=fast', 'It must have the form name=number.'],
    ['sample', "missing required argument 'run'"],
    ['sample a b', 'too many arguments'],
    ['train --epochs 3', "'--epochs'\n(Did you mean --steps?)"],
    ['train mine.txt', 'train --text mine.txt'],
    ['forecast sales.csv', 'forecast --csv sales.csv'],
    ['convert a b', "required option '--to <form>' not specified"],
    ['convert a b --to keras', 'Allowed choices are default, tf-1.2, tf-1.3, cells.'],
    ['export a', "required option '--format <format>' not specified"],
    ['export a --format pickle', 'Allowed choices are'],
    ['import a --as theano', 'Allowed choices are'],
    ['import a --direction backward', 'Allowed choices are unidirectional, bidirectional.'],
    ['layout --units 1.5', 'It must be an integer >= 1.'],
    ['inspect --jsonl a', 'Did you mean --json?'],
    ['verify', "missing required argument 'checkpoint'"],
    ['inspect ', '<checkpoint> must not be empty'],
    ['forecast --run  --csv a.csv', '--run <dir> must not be empty'],
    ['classify --run runs/a --format text a.txt ', '<files> must not be empty'],
  ])('refuses %s as usage, with exit code 2 and a pointer to the help', async (line, message) => {
    const { exitCode, stdout, stderr } = await run(...line.split(' '))
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain('--help')
  })

  it.each<[string, string]>([
    ['forecast --run runs/none --steps 5 --csv a.csv', '[ERR_USE_OPTION]: Cannot forecast with --run as --steps'],
    ['forecast --run runs/none', '[ERR_INVALID_OPTION]: Cannot forecast as --run must be given with --csv'],
    ['classify --run runs/none --limit 30', '[ERR_USE_OPTION]: Cannot classify with --run as --limit'],
    ['classify a.txt', '[ERR_INVALID_OPTION]: Cannot classify a.txt as --run must name the run'],
    ['classify --csv a.csv --jsonl b.jsonl', 'current paths are a.csv and b.jsonl'],
    ['layout --mode gru --proj 2', '[ERR_'],
    ['inspect runs/none', '[ERR_CHECKPOINT_NOT_FOUND]'],
    ['sample runs/none', '[ERR_NO_RUN]'],
  ])('refuses %s with a code', async (line, message) => {
    expect(await refusalOf(...line.split(' '))).toContain(message)
  })

  it.each(createProgram().commands.map((command) => command.name()))('has help for %s', async (name) => {
    const { exitCode, stdout, stderr } = await run(name, '--help')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain(`Usage: cudnn-rnn ${name} [options]`)
    for (const line of stdout.split('\n')) expect(line).not.toMatch(/undefined|\[object/)
  })
})

describe('layout', () => {
  it('writes a page, and prints its path', async () => {
    const html = join(await temporaryDirectory(), 'layout.html')
    expect(await run('layout', '--units', '3', '--html', html)).toEqual({
      exitCode: 0,
      stdout: `${html}\n`,
      stderr: '',
    })
  })

  it('lists a bidirectional network without input matrices and one with a projection', async () => {
    const skipped = (await run('layout', '--units', '2', '--input', '2', '--skip-input', '--bidirectional')).stdout
    expect(skipped).toMatch(/^.*bidirectional.*: \d+ elements\n/)
    expect(skipped).toMatch(/ backward +recurrent /)
    const { weights } = JSON.parse((await run('layout', '--units', '4', '--proj', '2', '--json')).stdout)
    expect(weights.at(-1)).toMatchObject({ side: 'projection', shape: [2, 4] })
  })

  it('refuses a page that cannot be written', async () => {
    const file = join(await temporaryDirectory(), 'file')
    await writeFile(file, '')
    const { exitCode, stdout } = await run('layout', '--html', join(file, 'layout.html'))
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  })
})
