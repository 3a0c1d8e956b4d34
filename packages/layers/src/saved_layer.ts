import type { LayerConfig, LayerDefinition } from './layer.js'

/** A layer as a saved model describes it. */
export function savedLayer({ kind, name, config }: LayerDefinition): LayerConfig {
  return { kind, ...(name !== undefined && { name }), ...(Object.keys(config).length > 0 && { config }) }
}
