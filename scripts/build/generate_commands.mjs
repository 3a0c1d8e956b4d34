// Writes the C++ header commands.h from the tables of commands and kernels, commands.ts and kernels.ts of packages/cudnn/src/sys:
//   node scripts/build/generate_commands.mjs [FILE]
// It first compares them with the prototypes of the functions and kernels that the commands call. CMake runs it for
// native/cudnn with a FILE of the build folder; without one nothing is written.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const file = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const read = (path) => readFileSync(file(path), 'utf8')

const table = ['commands', 'kernels'].map((name) => read(`packages/cudnn/src/sys/${name}.ts`)).join('\n')
const { outputFiles } = buildSync({
  ...{ bundle: true, format: 'esm', write: false, absWorkingDir: file('packages/cudnn/src/sys') },
  stdin: {
    contents: "export * from './commands.js'\nexport * from './kernels.js'",
    resolveDir: file('packages/cudnn/src/sys'),
  },
})
const code = encodeURIComponent(outputFiles[0].text)
const { COMMANDS, KERNELS, MODE, PERSISTENT_KERNELS } = await import(`data:text/javascript,${code}`)

/** The docstring above a command of the table, as lines of a C++ comment. */
function commentOf(name) {
  const found = new RegExp(`\\n  /\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n  ${name}: `).exec(table)
  if (found === null) return []
  const lines = found[1].split('\n').map((line) => line.replace(/^\s*\*?\s*/, '').trimEnd())
  return lines.filter((line) => line !== '').map((line) => `/// ${line}`)
}

/** "const void* x" → { name, type }, of every parameter of a list. */
const parametersOf = (list) =>
  list
    .split(',')
    .map((text) => /^\s*(.*?)\s*(\w+)\s*(\[\])?\s*$/s.exec(text))
    .filter((found) => found !== null)
    .map(([, type, name, array]) => ({ name, type: (array === undefined ? type : `${type}*`).replaceAll(/\s+/g, ' ') }))

// ---- prototypes ------------------------------------------------------------------------------------------------------

const functions = new Map()
for (const library of ['cudart', 'driver', 'cublas', 'cudnn']) {
  const rows = read(`native/cudnn/src/sys/${library}_symbols.def`).replaceAll(/\/\/.*$/gm, '')
  for (const [, name, parameters] of rows.matchAll(/SYMBOL\(\s*[^,]+,\s*(\w+),\s*\(([^)]*)\)\s*\)/g)) {
    functions.set(name, { table: library, parameters: parametersOf(parameters) })
  }
}
const kernels = new Map()
const source = ['dense', 'layers', 'tensors', 'ctc', 'streams', 'persistent']
  .map((name) => read(`native/cudnn/kernels/${name}.cu`))
  .join('\n')
  // The macro of dense.cu for the parameters of four tensors.
  .replaceAll(/FOUR\(([^,()]+), (\w+)\)/g, (_, type, name) => [0, 1, 2, 3].map((k) => `${type} ${name}${k}`).join())
const kernel = /extern "C" __global__ void (?:IN_[A-Z]+ )?(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(([^)]*)\)/g
for (const [, name, list] of source.matchAll(kernel)) kernels.set(name, parametersOf(list))

const problems = []

/** A buffer that the function writes is not a pointer to const. */
function checkAccess(where, kind, type) {
  const isBuffer = /^(in|out|inout)\??$/.test(kind)
  if (isBuffer !== type.endsWith('*')) problems.push(`${where} is ${kind}, and the prototype has ${type}`)
  else if (isBuffer && type.startsWith('const') && !kind.startsWith('in?') && kind !== 'in') {
    problems.push(`${where} is written, and the prototype has ${type}`)
  }
}

for (const [name, { call, fields }] of Object.entries(COMMANDS)) {
  if (call === undefined) continue
  const prototype = functions.get(call)
  if (prototype === undefined) {
    problems.push(`${name}: no prototype of ${call}`)
    continue
  }
  for (const [field, kind] of Object.entries(fields)) {
    const parameter = prototype.parameters.find((one) => one.name === field)
    const isBuffer = /^(in|out|inout)\??$/.test(kind)
    if (parameter === undefined && isBuffer) problems.push(`${name}: ${call} has no parameter ${field}`)
    if (parameter !== undefined && isBuffer) checkAccess(`${name}.${field}`, kind, parameter.type)
  }
}

for (const [name, fields] of Object.entries({ ...KERNELS, ...PERSISTENT_KERNELS })) {
  const prototype = kernels.get(name)
  if (prototype === undefined) {
    problems.push(`${name}: no such kernel`)
    continue
  }
  const expected = Object.entries(fields)
  if (expected.some(([, kind]) => kind === 'scalar')) expected.push(['live', 'in'])
  if (name in PERSISTENT_KERNELS) expected.push(['stuck', 'inout'])
  if (expected.map(([field]) => field).join() !== prototype.map((one) => one.name).join()) {
    problems.push(`${name}: the parameters are ${prototype.map((one) => one.name).join(', ')}`)
    continue
  }
  for (const [k, [field, kind]] of expected.entries()) {
    const { type } = prototype[k]
    checkAccess(`${name}.${field}`, kind, type)
    if (kind === 'size' && type !== 'Index') problems.push(`${name}.${field} is a size, and the prototype has ${type}`)
    if (kind === 'scalar' && type !== 'REAL')
      problems.push(`${name}.${field} is a scalar, and the prototype has ${type}`)
  }
}
for (const name of kernels.keys())
  if (!(name in KERNELS || name in PERSISTENT_KERNELS)) problems.push(`${name}: a kernel without a row`)

if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}

// ---- the header ------------------------------------------------------------------------------------------------------

const pascal = (name) => name[0].toUpperCase() + name.slice(1)
const snake = (name) =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()

/** A field's type in C++, and the function of the reader that reads it. */
function typeOf(kind) {
  const descriptor = /^(\w+Descriptor|kernelModule)([?!])?$/.exec(kind)
  if (descriptor !== null) {
    const [, name, mark] = descriptor
    const type = pascal(name)
    if (mark === '!') return [`NewDescriptor<${type}>`, `New<${type}>`]
    return [`DescriptorRef<${type}>`, `${mark === '?' ? 'OptionalExisting' : 'Existing'}<${type}>`]
  }
  const types = {
    in: ['const Buffer*', 'In'],
    'in?': ['const Buffer*', 'OptionalIn'],
    out: ['Buffer*', 'Out'],
    'out?': ['Buffer*', 'OptionalOut'],
    inout: ['Buffer*', 'InOut'],
    int: ['int', 'Int'],
    size: ['std::size_t', 'Size'],
    double: ['double', 'Double'],
    // NaN if it is left out.
    'double?': ['double', 'Double'],
    source: ['Source', 'HostSource'],
    'source?': ['Source', 'OptionalSource'],
    target: ['Target', 'HostTarget'],
    graph: ['cudaGraphExec_t', 'Launched'],
  }
  return types[kind]
}

/** Commands that the reader carries out or that have their own parameters. */
const SPECIAL = {
  segment: '',
  allocate: 'reader.Allocate();',
  allocateOnHost: 'reader.AllocateOnHost();',
  release: 'reader.Release();',
}

/** The body of a command whose fields are all parameters of its call: the arguments in the order of the prototype. */
function bodyOf({ call, fields }) {
  const { table, parameters } = functions.get(call)
  const handles = { handle: 'worker.cudnn', stream: 'worker.stream' }
  const arguments_ = parameters.map(({ name, type }, k) => {
    const kind = fields[name]
    const member = snake(name)
    if (kind === undefined && name in handles) return handles[name]
    if (kind === undefined && type === 'size_t' && name.endsWith('Size')) {
      return `BytesOf(${snake(parameters[k + 1].name)})`
    }
    if (kind === undefined) return undefined
    if (/^(in|out|inout)\??$/.test(kind)) {
      return type.includes('int32_t')
        ? `static_cast<const std::int32_t*>(AddressOf(${member}))`
        : `AddressOf(${member})`
    }
    return kind.includes('Descriptor') ? `${member}.get()` : member
  })
  if (arguments_.includes(undefined)) return undefined
  const named = new Set(parameters.map(({ name }) => name))
  if (Object.entries(fields).some(([name, kind]) => !named.has(name) || kind.endsWith('!'))) return undefined
  const check = { cudnn: 'CheckCudnn', cudart: 'CheckCudart', driver: 'CheckDriver', cublas: 'CheckCublas' }[table]
  return `${check}(worker.libraries, worker.libraries.${table}.${call}(${arguments_.join(', ')}), "${call}");`
}

const lines = []
const structs = []
for (const [name, command] of Object.entries(COMMANDS)) {
  if (name in SPECIAL) continue
  const type = pascal(name)
  structs.push(type)
  const members = Object.entries(command.fields).map(([field, kind]) => [snake(field), ...typeOf(kind)])
  const body = command.call === undefined ? undefined : bodyOf(command)
  const shapes = { launchKernel: 'Kernels()', launchPersistent: 'PersistentKernels()' }[name]
  const reads = members.map(([member, , reader]) => `${member}(reader.${reader}())`)
  lines.push(
    '',
    command.call === undefined ? undefined : `// ${command.call}`,
    ...commentOf(name),
    `struct ${type} {`,
    `  explicit ${type}(${reads.length > 0 ? 'CommandReader& reader' : 'CommandReader&'})${reads.length > 0 ? ` : ${reads.join(', ')}` : ''} {${shapes ? ` parameters = KernelParametersOf(reader, ${shapes}.at(static_cast<std::size_t>(kernel))); ` : ''}}`,
    ...members.map(([member, cpp]) => `  ${cpp} ${member};`),
    shapes && '  KernelParameters parameters;',
    body === undefined
      ? '  void Run(Worker& worker, Batch& batch) const;'
      : `  void Run(Worker& worker, Batch&) const { ${body} }`,
    '};',
  )
}

const kindOf = {
  in: 'kIn',
  'in?': 'kOptionalIn',
  out: 'kOut',
  'out?': 'kOptionalOut',
  inout: 'kInOut',
  size: 'kCount',
  scalar: 'kScalar',
}
const shapesOf = (name, kernels) => {
  const rows = Object.entries(kernels).map(([kernel, fields]) => {
    const kinds = Object.values(fields).map((kind) => kindOf[kind])
    return `    {"${kernel}", {${kinds.join(', ')}}},`
  })
  return [
    `inline const std::vector<KernelShape>& ${name}() {`,
    '  using enum KernelParameter;',
    '  static const std::vector<KernelShape> kernels = {',
    ...rows,
    '  };',
    '  return kernels;',
    '}',
  ].join('\n')
}
const header = `#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "device/command_reader.h"
#include "device/kernel_parameters.h"
#include "device/worker.h"
#include "sys/status.h"

namespace cudnn_rnn {

enum class Opcode { ${Object.keys(COMMANDS)
  .map((name) => `k${pascal(name)}`)
  .join(', ')} };

namespace mode {
${Object.entries(MODE)
  .map(([name, bit]) => [...commentOf(name), `constexpr unsigned k${pascal(name)} = ${bit};`].join('\n'))
  .join('\n')}
}  // namespace mode

inline void* AddressOf(const Buffer* buffer) { return buffer == nullptr ? nullptr : buffer->pointer; }
inline std::size_t BytesOf(const Buffer* buffer) { return buffer == nullptr ? 0 : buffer->bytes; }

${shapesOf('Kernels', KERNELS)}
${shapesOf('PersistentKernels', PERSISTENT_KERNELS)}
${lines.filter((line) => line !== undefined).join('\n')}

using AnyCommand = std::variant<${structs.join(', ')}>;

/// Reads one command. A command that the reader carries out itself adds nothing to \`commands\`.
inline void ReadCommand(CommandReader& reader, std::vector<AnyCommand>& commands) {
  switch (static_cast<Opcode>(reader.Int())) {
${Object.keys(COMMANDS)
  .map((name) => {
    if (name in SPECIAL) return `    case Opcode::k${pascal(name)}: ${SPECIAL[name]}${SPECIAL[name] ? ' ' : ''}return;`
    // A graph's uploads go before it.
    if (name === 'upload')
      return '    case Opcode::kUpload: { Upload one(reader); if (!reader.is_capturing()) commands.emplace_back(one); return; }'
    return `    case Opcode::k${pascal(name)}: commands.emplace_back(std::in_place_type<${pascal(name)}>, reader); return;`
  })
  .join('\n')}
  }
}

inline void RunCommand(const AnyCommand& command, Worker& worker, Batch& batch) {
  std::visit([&](const auto& one) { one.Run(worker, batch); }, command);
}

}  // namespace cudnn_rnn
`

const [, , target] = process.argv
if (target !== undefined) writeFileSync(target, header)
