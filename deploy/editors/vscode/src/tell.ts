/** The only module that shows notifications. Their text may come from models and files, and must not become a link. */

import * as vscode from 'vscode';

import { notice } from './text';

type Show = (text: string, ...buttons: string[]) => Thenable<string | undefined>;

export const tell: Show = (text, ...buttons) => vscode.window.showInformationMessage(notice(text), ...buttons);
export const warn: Show = (text, ...buttons) => vscode.window.showWarningMessage(notice(text), ...buttons);
export const complain: Show = (text, ...buttons) => vscode.window.showErrorMessage(notice(text), ...buttons);

/** Shows progress, with a button that cancels the work. */
export function working<T>(title: string, work: (stop: AbortSignal) => Thenable<T>): Thenable<T> {
  const location = vscode.ProgressLocation.Notification;
  return vscode.window.withProgress({ location, title: notice(title), cancellable: true }, (_progress, cancelled) => {
    const stop = new AbortController();
    cancelled.onCancellationRequested(() => stop.abort());
    return work(stop.signal);
  });
}
