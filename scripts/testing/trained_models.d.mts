/** The path of a trained model of another project, by its path below the folder of models. */
export function modelPath(path: string): string
export function modelBytes(path: string): Uint8Array
/** A suite that needs the trained models; it is skipped if they are absent. */
export function describeWithModels(title: string, suite: () => void): void
