import DefaultTheme from 'vitepress/theme'
import './code_blocks.css'

export default DefaultTheme
