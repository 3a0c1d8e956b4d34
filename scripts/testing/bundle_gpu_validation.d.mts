/** Writes gpu_validation.mjs, which needs only Node.js, and torch_baseline.py to `folder`. */
export function bundleGpuValidation(folder: string): Promise<void>
