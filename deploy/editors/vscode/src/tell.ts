/** The one way to notifications: their text may name what models and files hold, and is never a link. */

import * as vscode from 'vscode';

import { notice } from './text';

type Show = (text: string, ...buttons: string[]) => Thenable<string | undefined>;

export const tell: Show = (text, ...buttons) => vscode.window.showInformationMessage(notice(text), ...buttons);
export const warn: Show = (text, ...buttons) => vscode.window.showWarningMessage(notice(text), ...buttons);
export const complain: Show = (text, ...buttons) => vscode.window.showErrorMessage(notice(text), ...buttons);

/** Work under way, with a button that stops it. */
export function working<T>(title: string, work: (stop: AbortSignal) => Thenable<T>): Thenable<T> {
  const location = vscode.ProgressLocation.Notification;
  return vscode.window.withProgress({ location, title: notice(title), cancellable: true }, (_progress, cancelled) => {
    const stop = new AbortController();
    cancelled.onCancellationRequested(() => stop.abort());
    return work(stop.signal);
  });
}
