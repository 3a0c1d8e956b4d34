import { useState } from 'preact/hooks'

export interface FileDropProps {
  readonly label: string
  /** Endings and MIME types of the file dialog. */
  readonly accept?: string
  readonly multiple?: boolean
  /** Takes no files for the moment. */
  readonly disabled?: boolean
  readonly onFiles: (files: readonly File[]) => void
}

/** A field for files: chosen in a dialog, or dropped. */
export function FileDrop({ label, accept, multiple = false, disabled = false, onFiles }: FileDropProps) {
  const [isOver, setOver] = useState(false)
  const take = (list: FileList | null | undefined) => {
    if (!disabled && list && list.length > 0) onFiles([...list])
  }
  return (
    <label
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(!disabled)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer?.files)
      }}
    >
      {label}
      <input
        type="file"
        accept={accept}
        multiple={multiple}
        disabled={disabled}
        onChange={({ currentTarget }) => {
          take(currentTarget.files)
          // The same file may be chosen again.
          currentTarget.value = ''
        }}
      />
    </label>
  )
}
