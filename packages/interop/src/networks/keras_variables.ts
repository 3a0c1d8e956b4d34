import { entryOf, listIn, required, zip } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import type { KerasCell, KerasLayer } from './keras_description.js'
import { groupTensors, type StoredGroup } from './tensor_groups.js'

type Variables = StoredGroup['tensors']

const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const
/** Keras 3 numbers variables: `layers/lstm/cell/vars/0`. */
const NUMBERED = /^(.*)\/vars\/(\d+)$/
/** Older files name them, in a group for each layer of the model: `model_weights/lstm/lstm/lstm_cell/kernel:0`. */
const NAMED = /^((?:model_weights\/)?([^/]+)\/.*?)\/?(kernel|recurrent_kernel|bias)(?::0)?$/
const CELL_PLACE = /\/cell(?:\/cells\/[^/]+)?$/

/** Which variables of a file are whose, in a file that describes its model. */
export class DescribedVariables {
  readonly #cells = new Map<KerasCell, Variables>()
  readonly #refusals = new Map<KerasLayer, string>()
  readonly #opaque = new Map<KerasLayer, StoredTensor[]>()
  readonly #undescribed: { readonly name: string; readonly tensors: readonly StoredTensor[] }[] = []

  constructor({ tensors }: WeightFile, layers: readonly KerasLayer[]) {
    if (tensors.some(({ name }) => NUMBERED.test(name))) this.#findPlaces(tensors, layers)
    else this.#findGroups(tensors, layers)
  }

  of(cell: KerasCell): Variables {
    return this.#cells.get(cell) ?? new Map()
  }

  tensorsOf(layer: KerasLayer): StoredTensor[] {
    const own = layer.directions.flatMap(({ cells }) => cells.flatMap((cell) => [...this.of(cell).values()]))
    return [...own, ...(this.#opaque.get(layer) ?? [])]
  }

  /** In words why a layer cannot be read from this file. */
  refusalOf(layer: KerasLayer): string | undefined {
    return this.#refusals.get(layer)
  }

  /** Cells that belong to no layer of the description. */
  undescribed(): readonly { readonly name: string; readonly tensors: readonly StoredTensor[] }[] {
    return this.#undescribed
  }

  #findPlaces(tensors: readonly StoredTensor[], layers: readonly KerasLayer[]): void {
    const groups = groupTensors(tensors, splitNumbered)
    const places = new Map(groups.map(({ prefix, tensors: variables }) => [prefix, variables]))
    const names = new Set(tensors.map(({ name }) => name))
    for (const layer of layers) {
      for (const cell of layer.directions.flatMap(({ cells }) => cells)) {
        const variables = places.get(cell.place)
        places.delete(cell.place)
        if (variables !== undefined) this.#cells.set(cell, variables)
        const more = `${cell.place}/vars/${OWN_NAMES.length}`
        if (names.has(more))
          this.#refusals.set(layer, `a cell must have ${OWN_NAMES.length} variables: there is ${more}`)
        else if (variables === undefined) {
          this.#refusals.set(layer, `its variables are not at ${cell.place}: a layer of two models is stored in one`)
        }
      }
    }
    const opaque = layers.filter(({ directions }) => directions.length === 0)
    for (const [place, variables] of places) {
      // Paths of cells; dense layers have none.
      if (!CELL_PLACE.test(place)) continue
      const own = [...variables.values()]
      const owner = opaque.find((layer) => layer.place === '' || place.startsWith(`${layer.place}/`))
      if (owner === undefined) this.#undescribed.push({ name: place.replace(/^layers\//, ''), tensors: own })
      else this.#refuseOpaque(owner, own)
    }
  }

  /** Older files list a layer's weights in the order in which the model holds them, frozen ones last. */
  #findGroups(tensors: readonly StoredTensor[], layers: readonly KerasLayer[]): void {
    const groups = new Map<string, Variables[]>()
    for (const { tensors: variables } of groupTensors(tensors, splitNamed)) {
      if (!variables.has('recurrent_kernel')) continue
      const group = required(
        NAMED.exec(entryOf(variables, 'recurrent_kernel').name)?.[2],
        'splitNamed took the group of the variables from this name',
      )
      listIn(groups, group).push(variables)
    }
    const members = new Map<string, KerasLayer[]>()
    for (const layer of layers) listIn(members, layer.group).push(layer)
    for (const [group, list] of members) {
      const stored = group === '' ? [...groups.values()].flat() : (groups.get(group) ?? [])
      groups.delete(group)
      const cells = list.flatMap(({ directions }) => directions.flatMap((direction) => direction.cells))
      const inOrder = [...cells.filter(({ trainable }) => trainable), ...cells.filter(({ trainable }) => !trainable)]
      if (stored.length === inOrder.length) {
        for (const [cell, own] of zip(inOrder, stored)) this.#cells.set(cell, own)
        continue
      }
      const all = stored.flatMap((variables) => [...variables.values()])
      const opaque = list.find(({ directions }) => directions.length === 0)
      if (opaque !== undefined) this.#refuseOpaque(opaque, all)
      for (const layer of list) {
        if (layer === opaque || layer.directions.length === 0) continue
        const rule = `the description has ${inOrder.length} cells in ${group}, and the file has ${stored.length}`
        this.#refusals.set(layer, layer.refusal ?? rule)
      }
    }
    for (const [name, stored] of groups) {
      if (members.has('')) continue
      this.#undescribed.push({ name, tensors: stored.flatMap((variables) => [...variables.values()]) })
    }
  }

  #refuseOpaque(layer: KerasLayer, tensors: readonly StoredTensor[]): void {
    listIn(this.#opaque, layer).push(...tensors)
    if (layer.refusal !== undefined) this.#refusals.set(layer, layer.refusal)
  }
}

function splitNumbered(name: string): readonly [prefix: string, own: string] | undefined {
  const [, place, number] = NUMBERED.exec(name) ?? []
  const own = OWN_NAMES[Number(number)]
  return place === undefined || own === undefined ? undefined : [place, own]
}

function splitNamed(name: string): readonly [prefix: string, own: string] | undefined {
  const [, prefix, , own] = NAMED.exec(name) ?? []
  return prefix === undefined || own === undefined ? undefined : [prefix, own]
}
